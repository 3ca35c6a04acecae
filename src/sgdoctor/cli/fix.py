"""``sgdoctor fix``: the plan for one launch, as a diff in its own form; changes files only with ``--write``."""

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sgdoctor.messages import say

if TYPE_CHECKING:
    from sgdoctor.cli.parsing import Parser
    from sgdoctor.fixes.model import Answer
    from sgdoctor.targets import Target

FORMATS: Final = ("text", "json", "patch")
IN_PLACE: Final = ""
"""What ``--write`` without a file stands for."""


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``fix``."""
    lang = parser.lang
    parser.description = say(lang, "fix.about")
    parser.dashed_values = frozenset({"--set", "--unset"})
    parser.takes_command = True
    parser.add_argument("target", nargs="*", metavar="TARGET", help=say(lang, "fix.target"))
    parser.add_argument("--from", dest="log", metavar="LOG", help=say(lang, "fix.from"))
    for name, metavar, key in (
        ("choose", "FIX", "fix.choose"),
        ("set", "FLAG=VALUE", "fix.set"),
        ("unset", "FLAG", "fix.unset"),
        ("env", "NAME=VALUE", "fix.env"),
    ):
        parser.add_argument(f"--{name}", metavar=metavar, action="append", default=[], help=say(lang, key))
    parser.add_argument("--write", metavar="FILE", nargs="?", const=IN_PLACE, help=say(lang, "fix.write"))
    parser.add_argument("--version", metavar="VERSION", help=say(lang, "fix.version"))
    parser.add_argument("--format", choices=FORMATS, default="text", help=say(lang, "fix.format"))
    parser.add_argument("--no-redact", action="store_true", help=say(lang, "diagnose.no_redact"))
    parser.add_argument("--rules", metavar="DIR", action="append", default=[], help=say(lang, "diagnose.rules"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Plans, writes what is asked to be written, then says what was planned; the exit code is that of the finding."""
    from sgdoctor.cli.diagnose import report_problems, rule_base_of
    from sgdoctor.cli.fix_answer import answer_for, exit_code
    from sgdoctor.cli.main import complain
    from sgdoctor.cli.open_relaunch import tell_open
    from sgdoctor.launch.foreign import refuse_other_engine, refuse_several
    from sgdoctor.report.safe import printable
    from sgdoctor.targets import open_target

    if not arguments.target:
        given = arguments.write
        hint = say(lang, "fix.write_took_target", given=shlex.quote(given)) if given else ""
        return complain(printable(say(lang, "fix.no_target") + hint), lang)
    for folder in arguments.rules:
        if not Path(folder).is_dir():
            return complain(say(lang, "error.rules_folder", given=printable(folder)), lang)
    base = rule_base_of(arguments.rules)
    report_problems(base, lang)
    tell_open(arguments.target[0], lang)
    with open_target(arguments.target, arguments.log) as target:
        if target.document is not None:
            refuse_other_engine(target.document)
            refuse_several(target.document)
        answer = answer_for(target, base, arguments, tidy=True)
        written = write_answer(target, answer, arguments.write) if arguments.write is not None else ()
    _print(answer, arguments, lang, written)
    return exit_code(answer)


def write_answer(target: "Target", answer: "Answer", name: str) -> tuple[str, ...]:
    """Writes the new text, and the files that it needs; all checks come before the first write.

    Returns:
        What was written.

    Raises:
        UserError: something is in the way; nothing was written.
    """
    from datetime import datetime

    from sgdoctor.cli.fix_files import remove_files, write_files
    from sgdoctor.errors import UserError
    from sgdoctor.writing import check_new, check_replaceable, replace_with_backup, write_new

    plan = answer.plan
    if plan.text is None:
        why = plan.refused
        if why is not None:
            raise UserError(
                f"{answer.target}: {why.en}; nothing was written", f"{answer.target}：{why.zh}；未写入任何内容"
            )
        raise UserError(
            f"{answer.target}: there is nothing to change, nothing was written",
            f"{answer.target}：无需改动，未写入任何内容",
        )
    if name == IN_PLACE and target.file is None:
        raise UserError(
            f"{answer.target}: only a compose file or a script can be changed in place: --write FILE",
            f"{answer.target}：只有 compose 文件和脚本可以原地修改：--write 文件",
        )
    folder = (target.file.path if target.file is not None else Path(name)).parent
    in_place = target.file if name == IN_PLACE else None
    # Before the files that the launch needs, some of which take the place of older ones.
    if in_place is not None:
        check_replaceable(in_place)
    else:
        check_new(Path(name))
    written = write_files(plan, folder)
    try:
        if in_place is not None:
            backup = replace_with_backup(in_place, plan.text, datetime.now().astimezone())
            return (*map(str, written), str(in_place.path), str(backup))
        write_new(Path(name), plan.text.encode())
    except UserError:
        remove_files(written)
        raise
    return (*map(str, written), name)


def _print(answer: "Answer", arguments: argparse.Namespace, lang: str, written: tuple[str, ...]) -> None:
    redact = not arguments.no_redact
    if arguments.format == "json":
        from sgdoctor.cli.diagnose import print_json
        from sgdoctor.report.plan_json import as_plan_data

        print_json(as_plan_data(answer, lang, redact=redact, written=written))
    elif arguments.format == "patch":
        from sgdoctor.cli.main import complain
        from sgdoctor.report.plan_redact import plan_redactor

        hide = plan_redactor(answer, redact=redact)
        patch = "\n".join(map(hide, answer.plan.diff.split("\n")))
        if patch != answer.plan.diff:
            complain(say(lang, "fix.patch_hidden"), lang)
        sys.stdout.write(patch)
    else:
        from sgdoctor.report.canvas import console_for
        from sgdoctor.report.plan_text import print_plan

        print_plan(console_for(sys.stdout), answer, lang, redact=redact, written=written)
