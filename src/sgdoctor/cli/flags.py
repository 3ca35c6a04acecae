"""``sgdoctor flags``: the flags of any SGLang version, and what is wrong with those of a command."""

import argparse
import json
import re
import shlex
import sys
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sgdoctor.cli.flag_texts import words
from sgdoctor.texts import listed

if TYPE_CHECKING:
    from sgdoctor.cli.parsing import Parser
    from sgdoctor.engines.sglang.flags.extract import Extracted
    from sgdoctor.engines.sglang.flags.model import Option, Schema
    from sgdoctor.launch.model import Launch, Problem
    from sgdoctor.redaction import Redactor

ACTIONS: Final = ("list", "show", "check", "add")
SCHEMA_VERSION: Final = 1
EXIT_FINE: Final = 0
EXIT_FAILURE: Final = 3
EXIT_WARNINGS: Final = 4

_STYLES: Final = {"fatal": "bold red", "error": "red", "degraded": "yellow"}
_SHORTEST_SECRET: Final = 4
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``flags`` and of its actions."""
    from sgdoctor.cli.parsing import Parser
    from sgdoctor.messages import say

    lang = parser.lang
    parser.description = words(lang, "about")
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", title=say(lang, "actions"), required=True, parser_class=Parser
    )
    added = {name: actions.add_parser(name, help=words(lang, f"help.{name}"), lang=lang) for name in ACTIONS}
    for action in added.values():
        action.add_language()
        action.add_argument("--version", metavar="VERSION", help=words(lang, "version"))
        action.add_argument("--format", choices=("text", "json"), default="text", help=words(lang, "format"))
    added["list"].add_argument("word", nargs="?", default="", metavar="WORD", help=words(lang, "word"))
    added["show"].dashed_words = True
    added["show"].add_argument("flag", metavar="FLAG", help=words(lang, "flag"))
    added["check"].takes_command = True
    added["check"].add_argument("--no-redact", action="store_true", help=words(lang, "no_redact"))
    added["check"].add_argument("command_words", nargs="+", metavar="COMMAND", help=words(lang, "command"))
    added["add"].add_argument("files", nargs="?", metavar="WHEEL|DIR", help=words(lang, "place"))
    added["add"].add_argument("--image", metavar="IMAGE", help=words(lang, "image"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Runs one action.

    Returns:
        0, or for ``check`` 3 where something would fail and 4 where something gets worse; 2 for bad usage.
    """
    action = {"list": _list, "show": _show, "check": _check, "add": _add}[arguments.action]
    return action(arguments, lang)


def _schema(arguments: argparse.Namespace, lang: str, image: str = "") -> "Schema":
    """The schema of the version that was asked for; a note on standard error where that one is not known.

    Args:
        arguments: of the command line.
        lang: ``en`` or ``zh``.
        image: version in the tag of the image, which counts where none was asked for; empty without one.
    """
    from sgdoctor.engines.sglang.flags.schemas import schema
    from sgdoctor.errors import UserError

    version = arguments.version if arguments.version is not None else image or None
    if version is None:
        return schema()
    version = version.removeprefix("v")
    if not _VERSION.fullmatch(version):
        raise UserError(words("en", "bad_version", version=version), words("zh", "bad_version", version=version))
    found = schema(version)
    if not found.exact:
        sys.stderr.write(words(lang, "nearest", asked=version, version=found.version) + "\n")
    return found


def _say(text: str) -> None:
    from sgdoctor.report.safe import printable_lines

    sys.stdout.write(printable_lines(text) + "\n")


def _say_json(schema: "Schema", **content: Any) -> None:
    from sgdoctor.report.safe import json_text

    document = {"schema": SCHEMA_VERSION, "version": schema.version, "exact": schema.exact, **content}
    sys.stdout.write(json_text(document) + "\n")


def _list(arguments: argparse.Namespace, lang: str) -> int:
    from sgdoctor.cli.main import complain
    from sgdoctor.engines.sglang.flags.documents import to_plain
    from sgdoctor.report.safe import printable

    schema = _schema(arguments, lang)
    wanted = arguments.word.lower().replace("_", "-")
    chosen = sorted(
        (option for option in schema.options if not option.no_cli and any(wanted in name for name in option.names)),
        key=lambda option: option.flag,
    )
    if arguments.format == "json":
        _say_json(schema, flags=[to_plain(option) for option in chosen])
        return EXIT_FINE
    if not chosen:
        return complain(printable(words(lang, "none", version=schema.version, word=arguments.word)), lang)
    for option in chosen:
        default = "" if option.default in (None, False) else f"  = {_typed(option.default)}"
        mark = f"  [{words(lang, 'deprecated')}]" if option.deprecated else ""
        _say(f"{option.flag:<44}  {_short_type(option)}{default}{mark}".rstrip())
    _say(words(lang, "count" if len(chosen) > 1 else "count_one", count=len(chosen), version=schema.version))
    return EXIT_FINE


def _show(arguments: argparse.Namespace, lang: str) -> int:
    from sgdoctor.cli.main import complain
    from sgdoctor.cli.parsing import close_to
    from sgdoctor.engines.sglang.flags.documents import to_plain
    from sgdoctor.engines.sglang.history import load_history
    from sgdoctor.messages import say
    from sgdoctor.report.safe import printable

    schema = _schema(arguments, lang)
    history = load_history()
    given = "--" + arguments.flag.lstrip("-").replace("_", "-")
    option = schema.option(given)
    flag = given if option is None else option.flag
    present = _versions_with(flag)
    if option is None and not present:
        # The dashes that all flags share would make any two of them alike.
        close = close_to(given.lstrip("-"), [name.lstrip("-") for name in {*schema.names, *history.flags}])
        known = say(lang, "error.did_you_mean", close=f"--{close}") if close else ""
        return complain(printable(words(lang, "unknown", flag=given, hint=known)), lang)
    successor = history.renames.get(flag)
    former = [old for old, (new, _) in history.renames.items() if new == flag]
    if arguments.format == "json":
        _say_json(
            schema,
            flag=flag,
            option=None if option is None else to_plain(option),
            versions=present,
            successor=None if successor is None else {"flag": successor[0], "value": successor[1]},
            formerly=former,
        )
        return EXIT_FINE
    lines = [] if option is None else _described(option, lang)
    if present:
        first, last = present[0], present[-1]
        newest = last == _versions_with("--model-path")[-1]
        text = words(lang, "from", first=first) if newest else words(lang, "range", first=first, last=last)
        lines.append(("versions", text if option else f"{text}; {words(lang, 'not_here', version=schema.version)}"))
    if successor is not None:
        lines.append(("becomes", " ".join(part for part in successor if part)))
    if former:
        lines.append(("formerly", listed(former).in_language(lang)))
    names = (
        ""
        if option is None or not option.aliases
        else "  " + words(lang, "names", names=listed(option.aliases).in_language(lang))
    )
    _say(f"{flag}{names}")
    _columns([(words(lang, key), text) for key, text in lines], lang)
    return EXIT_FINE


def _versions_with(flag: str) -> list[str]:
    """The known versions that have a flag, those that the user added included."""
    from sgdoctor.engines.sglang.flags.schemas import schema, versions

    return [version for version in versions() if flag in schema(version).names]


def _described(option: "Option", lang: str) -> list[tuple[str, str]]:
    """What an option takes, as pairs of the key of a text and a text."""
    from sgdoctor.launch.model import Arity

    amount = {Arity.NONE: "nothing", Arity.ONE: "one", Arity.MANY: "many"}[option.arity]
    marks = [words(lang, key) for key in ("required", "deprecated") if getattr(option, key)]
    lines = [("takes", ("，" if lang == "zh" else ", ").join([words(lang, amount, type=option.type), *marks]))]
    if option.choices:
        lines.append(("choices", listed(option.choices).in_language(lang)))
    if option.arity is not Arity.NONE and not option.required:
        lines.append(("default", words(lang, "decided") if option.default is None else _typed(option.default)))
    return lines


def _columns(pairs: Sequence[tuple[str, str]], lang: str) -> None:
    from rich.cells import cell_len
    from rich.text import Text as Styled

    from sgdoctor.report.canvas import Canvas, console_for
    from sgdoctor.report.safe import printable

    canvas = Canvas(console_for(sys.stdout), lang)
    width = max(cell_len(name) for name, _ in pairs)
    for name, text in pairs:
        canvas.line(Styled(printable(text)), 2, Styled(f"{name}{' ' * (width - cell_len(name))}  "))


def _check(arguments: argparse.Namespace, lang: str) -> int:
    from sgdoctor.cli.main import complain
    from sgdoctor.engines.sglang.versions import version_of_image
    from sgdoctor.fixes.config_file import config_of
    from sgdoctor.fixes.flag_tables import flag_problems
    from sgdoctor.report.plan_redact import hidden_words

    launch = _launch(arguments.command_words)
    if launch is None:
        return complain(words(lang, "no_engine"), lang)
    if launch.engine != "sglang":
        return complain(words(lang, "other_engine", engine=launch.engine), lang)
    tagged = version_of_image(launch.image)
    schema = _schema(arguments, lang, tagged)
    source = "asked" if arguments.version is not None else "image" if tagged else "newest"
    config = config_of(launch, schema, Path.cwd())
    whole = launch if config is None else config.before(launch)
    problems = (*flag_problems(whole, schema, {}), *(config.problems if config is not None else ()))
    hide = _redactor(whole.argv, redact=not arguments.no_redact)
    unread = config.note if config is not None and not config.read else None
    note = unread.in_language(lang) if unread is not None else None
    if arguments.format == "json":
        file = None if config is None else {"file": config.name, "read": config.read, "note": note}
        argv, plain = hidden_words(launch.argv, hide), [_plain(one, lang, hide) for one in problems]
        _say_json(schema, version_from=source, argv=argv, config=file, problems=plain)
    else:
        named = {"image": launch.image, "version": tagged or schema.version}
        why = words(lang, f"from_{source}", **named) if source != "asked" else None
        _print_problems(problems, [one for one in (note, why) if one is not None], schema, lang, hide)
    severities = {problem.severity for problem in problems}
    if severities & {"fatal", "error"}:
        return EXIT_FAILURE
    return EXIT_WARNINGS if "degraded" in severities else EXIT_FINE


def _launch(given: Sequence[str]) -> "Launch | None":
    """The launch of an engine in the words of a command, or of flags alone; None where there is none.

    Raises:
        UserError: what stands there cannot be taken apart.
    """
    from sgdoctor.launch.commands import find_engine
    from sgdoctor.launch.docker_options import run_at
    from sgdoctor.launch.docker_run import read_shell
    from sgdoctor.launch.found import Refused
    from sgdoctor.launch.model import Launch, Origin

    if given[0].startswith("-"):
        return Launch(Origin.COMMAND, tuple(given))
    quoted = len(given) == 1 and " " in given[0].strip()
    if quoted or run_at(given) is not None:
        launch = read_shell(given[0] if quoted else shlex.join(given)).launch
        return launch if launch.argv else None
    found = find_engine(given)
    if isinstance(found, Refused):
        return None
    return Launch(Origin.COMMAND, found.argv, found.flags_at, engine=found.place.engine)


def _redactor(argv: Sequence[str], *, redact: bool) -> "Redactor":
    from itertools import pairwise

    from sgdoctor.redaction import is_secret_field, redactor, unredacted

    if not redact:
        return unredacted
    pairs = (*pairwise(argv), *((name, value) for name, _, value in (word.partition("=") for word in argv)))
    known = {value for name, value in pairs if name.startswith("-") and is_secret_field(name)}
    # A shorter one would be found inside of other words.
    return redactor({value for value in known if len(value) >= _SHORTEST_SECRET})


def _plain(problem: "Problem", lang: str, hide: "Redactor") -> dict[str, Any]:
    return {
        "id": problem.id,
        "rule": problem.rule,
        "severity": problem.severity,
        "title": hide(problem.title.in_language(lang)),
        "where": problem.where.in_language(lang) if problem.where else None,
        "detail": hide(problem.detail.in_language(lang)) if problem.detail else None,
        "changes": [
            {"kind": change.kind, "name": change.name, "value": hide(change.value) if change.value else change.value}
            for change in problem.changes
        ],
    }


def _print_problems(
    problems: Sequence["Problem"], notes: Sequence[str], schema: "Schema", lang: str, hide: "Redactor"
) -> None:
    from rich.text import Text as Styled

    from sgdoctor.messages import say
    from sgdoctor.report.canvas import Canvas, console_for
    from sgdoctor.report.safe import printable
    from sgdoctor.report.shortening import first_of_each
    from sgdoctor.report.wording import change_text

    canvas = Canvas(console_for(sys.stdout), lang)
    shown, rest = first_of_each(problems, attrgetter("id"))
    for problem in shown:
        severity = Styled(f"{say(lang, f'severity.{problem.severity}')}  ", style=_STYLES.get(problem.severity, "dim"))
        where = words(lang, "at", place=problem.where.in_language(lang)) if problem.where else ""
        canvas.line(canvas.styled(printable(where + hide(problem.title.in_language(lang)))), 0, severity)
        indent = severity.cell_len
        if problem.detail is not None:
            canvas.line(canvas.styled(printable(hide(problem.detail.in_language(lang)))), indent)
        for change in problem.changes:
            canvas.line(Styled(printable(hide(change_text(change, lang)))), indent, Styled(f"{canvas.glyphs.follows} "))
    if rest:
        canvas.line(Styled(say(lang, "report.more_alike", count=rest), style="dim"))
    for note in notes:
        canvas.line(canvas.styled(printable(hide(note))))
    count = len(problems)
    key = "fine" if not count else "found_one" if count == 1 else "found"
    canvas.line(Styled(words(lang, key, count=count, version=schema.version)))


def _add(arguments: argparse.Namespace, lang: str) -> int:
    from sgdoctor.cli.main import complain
    from sgdoctor.engines.sglang.flags.schemas import add, schema
    from sgdoctor.report.safe import printable

    if (arguments.files is None) == (arguments.image is None):
        return complain(words(lang, "one_place"), lang)
    found = _extracted(arguments)
    version = (arguments.version or found.version or "").removeprefix("v")
    if not version:
        return complain(printable(words(lang, "no_version", place=arguments.files or arguments.image)), lang)
    if not _VERSION.fullmatch(version):
        return complain(printable(words(lang, "bad_version", version=version)), lang)
    file = add(version, found.options)
    count = sum(not option.no_cli for option in found.options)
    if arguments.format == "json":
        _say_json(schema(version), file=str(file), count=count)
    else:
        _say(words(lang, "added", version=version, count=count, file=file))
    return EXIT_FINE


def _extracted(arguments: argparse.Namespace) -> "Extracted":
    from sgdoctor.engines.sglang.flags.extract import extract
    from sgdoctor.engines.sglang.flags.sources import open_sources

    if arguments.image is None:
        return extract(open_sources(Path(arguments.files)))
    from sgdoctor.containers.client import Client
    from sgdoctor.containers.endpoint import find_endpoint
    from sgdoctor.containers.image_files import open_image

    with Client(find_endpoint()) as client, open_image(client, arguments.image) as sources:
        return extract(sources)


def _short_type(option: "Option") -> str:
    from sgdoctor.launch.model import Arity

    if option.arity is Arity.NONE:
        return ""
    kind = "|".join(option.choices[:3]) + ("|..." if len(option.choices) > 3 else "") if option.choices else option.type
    return f"{kind} ..." if option.arity is Arity.MANY else kind


def _typed(value: Any) -> str:
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
