"""``sgdoctor rules``: list, show, check and test rules, write a draft, the schema and the pages."""

import argparse
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sgdoctor.cli.rule_texts import words

if TYPE_CHECKING:
    from sgdoctor.cli.parsing import Parser
    from sgdoctor.rules.loading import Loaded, RuleSource
    from sgdoctor.rules.yaml_files import Problem

EXIT_FINE: Final = 0
EXIT_USAGE: Final = 2
EXIT_MISTAKES: Final = 3

ACTIONS: Final = ("list", "show", "check", "test", "schema", "new", "docs")


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``rules`` and of its actions."""
    from sgdoctor.cli.parsing import Parser
    from sgdoctor.messages import say
    from sgdoctor.rules.model import Severity
    from sgdoctor.rules.vocabulary import FAMILIES

    lang = parser.lang
    parser.description = words(lang, "about")
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", title=say(lang, "actions"), required=True, parser_class=Parser
    )
    added = {name: actions.add_parser(name, help=words(lang, f"help.{name}"), lang=lang) for name in ACTIONS}
    for name, action in added.items():
        action.add_language()
        if name in ("list", "show", "check", "test"):
            action.add_argument("--format", choices=("text", "json"), default="text", help=words(lang, "format"))
    families = tuple(FAMILIES.values())
    added["list"].add_argument("--family", choices=families, help=words(lang, "family"))
    levels = tuple(level.value for level in Severity)
    added["list"].add_argument("--severity", choices=levels, metavar="LEVEL", help=words(lang, "severity"))
    added["show"].add_argument("rule", metavar="RULE", help=words(lang, "rule"))
    for name in ("check", "test"):
        added[name].add_argument("rules", nargs="*", metavar="RULE|PATH", help=words(lang, "selection"))
    added["new"].add_argument("name", metavar="NAME", help=words(lang, "new.name"))
    added["new"].add_argument("--family", choices=families, required=True, help=words(lang, "family"))
    added["new"].add_argument("--from", dest="log", metavar="LOG:LINE", help=words(lang, "new.from"))
    added["new"].add_argument("--dir", metavar="DIR", help=words(lang, "new.dir"))
    added["docs"].add_argument("dir", metavar="DIR", help=words(lang, "docs.dir"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Runs one action; returns its exit code: 0, 2 for bad usage, 3 where rules have mistakes or fail their tests."""
    action = {
        "list": _list,
        "show": _show,
        "check": _check,
        "test": _test,
        "schema": _schema,
        "new": _new,
        "docs": _docs,
    }[arguments.action]
    return action(arguments, lang)


def _loaded() -> "Loaded":
    from sgdoctor.rules.loading import load_rules
    from sgdoctor.rules.locate import built_in_dir, user_dirs

    return load_rules(built_in_dir(), user_dirs())


def _say(text: str) -> None:
    from sgdoctor.report.safe import printable_lines

    sys.stdout.write(printable_lines(text) + "\n")


def _say_json(document: Any) -> None:
    from sgdoctor.report.safe import json_text

    sys.stdout.write(json_text(document) + "\n")


def _fail(lang: str, key: str, **values: Any) -> int:
    from sgdoctor.cli.main import complain
    from sgdoctor.report.safe import printable

    return complain(printable(words(lang, key, **values)), lang)


def _meant(lang: str, given: str, known: Collection[str]) -> str:
    from sgdoctor.cli.parsing import hint

    return hint(lang, given, known)


def _list(arguments: argparse.Namespace, lang: str) -> int:
    from sgdoctor.rules.template import spoken
    from sgdoctor.rules.vocabulary import FAMILIES

    loaded = _loaded()
    severity = arguments.severity
    chosen = [
        source
        for source in loaded.every()
        if arguments.family in (None, FAMILIES[source.model.id[3]]) and severity in (None, source.model.severity)
    ]
    if arguments.format == "json":
        _say_json([_summary(source, loaded) for source in chosen])
        return EXIT_FINE
    for source in chosen:
        model = source.model
        title = (model.title.zh if lang == "zh" else "") or model.title.en
        mark = "".join(f"  [{words(lang, key)}]" for key in _marks(source, loaded))
        _say(f"{model.id}  {model.severity:<8}  {model.name:<36}  {spoken(title, lang)}{mark}")
    _say(words(lang, "count", count=len(chosen), muted=sum(source in loaded.silenced for source in chosen)))
    return EXIT_FINE


def _marks(source: "RuleSource", loaded: "Loaded") -> list[str]:
    """What the user did to a rule, as keys of texts."""
    marks = {"list.muted": loaded.mute_files, "list.replaces": loaded.replaced}
    return [key for key, ids in marks.items() if source.model.id in ids]


def _summary(source: "RuleSource", loaded: "Loaded") -> dict[str, Any]:
    model = source.model
    return {
        "id": model.id,
        "name": model.name,
        "severity": model.severity,
        "status": model.status,
        "title": model.title.model_dump(),
        "file": source.file,
        "muted_by": loaded.mute_files.get(model.id),
        "replaces": loaded.replaced.get(model.id),
    }


def _show(arguments: argparse.Namespace, lang: str) -> int:
    loaded = _loaded()
    given = arguments.rule
    source = next((one for one in loaded.every() if given.upper() == one.model.id or given == one.model.name), None)
    if source is None:
        return _fail(lang, "no_rule", given=given, hint=_meant(lang, given, [one.model.name for one in loaded.every()]))
    if arguments.format == "json":
        plain = {**source.plain, "tests": source.model.tests.model_dump(exclude_defaults=True)}
        _say_json(plain)
    else:
        _say(f"# {source.file}")
        if file := loaded.mute_files.get(source.model.id):
            _say("# " + words(lang, "muted_by", file=file))
        if file := loaded.replaced.get(source.model.id):
            _say("# " + words(lang, "replaces", file=file))
        _say(Path(source.file).read_text("utf-8").rstrip())
    return EXIT_FINE


class _Selection:
    """The rules that were asked for, and every mistake found on the way to them."""

    def __init__(self, wanted: Sequence[str]) -> None:
        from sgdoctor.rules.loading import load_file, load_folder, mutes_of_nothing

        loaded = _loaded()
        self.known = {source.model.id for source in loaded.every()}
        self.names = [one.model.name for one in loaded.every()]
        self.sources: list[RuleSource] = []
        self.problems: list[Problem] = []
        self.missing: list[str] = []
        if not wanted:
            self.sources = list(loaded.sources)
            self.problems = [*loaded.built_in_problems, *loaded.user_problems]
        for one in wanted:
            path = Path(one)
            if path.is_dir():
                folder = load_folder(path)
                self.sources += folder.sources
                self.problems += folder.problems
                ids = self.known | {source.model.id for source in folder.sources}
                self.problems += mutes_of_nothing(folder.mutes, ids)
            elif path.is_file():
                source, problems = load_file(path)
                self.sources += () if source is None else (source,)
                self.problems += problems
            else:
                found = [s for s in loaded.every() if one.upper() == s.model.id or one == s.model.name]
                self.sources += found
                self.missing += () if found else (one,)
        self.known |= {source.model.id for source in self.sources}


def _check(arguments: argparse.Namespace, lang: str) -> int:
    from sgdoctor.rules.checking import check

    selection = _Selection(arguments.rules)
    if selection.missing:
        given = selection.missing[0]
        return _fail(lang, "no_rule", given=given, hint=_meant(lang, given, selection.names))
    problems = list(selection.problems)
    for source in selection.sources:
        problems += check(source, ids=selection.known)
    warnings = sum(problem.warning for problem in problems)
    errors = len(problems) - warnings
    if arguments.format == "json":
        found = [
            {
                "file": problem.file,
                "line": problem.line,
                "level": "warning" if problem.warning else "error",
                "text": problem.text.in_language(lang),
            }
            for problem in problems
        ]
        _say_json({"rules": len(selection.sources), "problems": found})
    else:
        for problem in problems:
            _say(_relative(problem.shown(lang)))
        _say(words(lang, "checked", rules=len(selection.sources), errors=errors, warnings=warnings))
    return EXIT_MISTAKES if errors else EXIT_FINE


def _relative(text: str) -> str:
    """A message without the working directory in front of its file."""
    return text.removeprefix(f"{Path.cwd()}/")


def _test(arguments: argparse.Namespace, lang: str) -> int:
    from sgdoctor.cli.rule_tests import run_tests
    from sgdoctor.rules.base import load_rule_base
    from sgdoctor.rules.drafts import left_out

    selection = _Selection(arguments.rules)
    if selection.missing:
        given = selection.missing[0]
        return _fail(lang, "no_rule", given=given, hint=_meant(lang, given, selection.names))
    for problem in selection.problems:
        _say(_relative(problem.shown(lang)))
    base = load_rule_base(use_cache=not arguments.rules)
    if any(Path(one).exists() for one in arguments.rules) or any(map(left_out, selection.sources)):
        base = _with(selection.sources)
    tally = run_tests(selection.sources, base, lang)
    if arguments.format == "json":
        report = {"tests": tally.tests, "failures": [vars_of(failure) for failure in tally.failures]}
        _say_json(report)
    else:
        for failure in tally.failures:
            _say(_relative(f"{failure.file}:{failure.line}: {failure.text}"))
        _say(words(lang, "tested", tests=tally.tests, failures=len(tally.failures)))
    mistakes = any(not problem.warning for problem in selection.problems)
    return EXIT_MISTAKES if tally.failures or mistakes else EXIT_FINE


def vars_of(failure: Any) -> dict[str, Any]:
    """A failure as JSON."""
    return {"file": failure.file, "line": failure.line, "text": failure.text}


def _with(sources: "Sequence[RuleSource]") -> Any:
    """The rules in force with these over them: files outside of the rule folders are tested in their company."""
    from sgdoctor.rules.base import assemble

    plain = {source.model.id: source.plain for source in (*_loaded().sources, *sources)}
    return assemble(list(plain.values()))


def _schema(_arguments: argparse.Namespace, _lang: str) -> int:
    from sgdoctor.rules.json_schema import json_schema

    _say_json(json_schema())
    return EXIT_FINE


def _new(arguments: argparse.Namespace, lang: str) -> int:
    import re

    from sgdoctor.cli.rule_draft import Example, draft, example_of
    from sgdoctor.rules.locate import built_in_dir, user_rules_dir
    from sgdoctor.rules.vocabulary import FAMILIES

    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", arguments.name):
        return _fail(lang, "new.kebab", given=arguments.name)
    # Before anything is written: the log may not be there.
    example = example_of(arguments.log) if arguments.log else Example()
    digit = next(digit for digit, family in FAMILIES.items() if family == arguments.family)
    loaded = _loaded()
    taken = {source.model.id for source in loaded.every()} | set(loaded.muted)
    free = next((f"SGL{digit}{number:02}" for number in range(99, 0, -1) if f"SGL{digit}{number:02}" not in taken), "")
    if not free:
        return _fail(lang, "new.full", family=arguments.family)
    folder = Path(arguments.dir) if arguments.dir else user_rules_dir() / arguments.family
    path = folder / f"{arguments.name}.yaml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(draft(free, arguments.name, built_in_dir() / "schema.json", lang, example))
    except FileExistsError:
        return _fail(lang, "new.exists", path=path)
    except OSError as error:
        return _fail(lang, "unwritable", path=path, reason=error.strerror or error)
    _say(words(lang, "new.written", path=path))
    return EXIT_FINE


def _docs(arguments: argparse.Namespace, lang: str) -> int:
    from sgdoctor.cli.rule_pages import pages
    from sgdoctor.rules.base import load_rule_base

    folder = Path(arguments.dir)
    written = pages(list(load_rule_base(user_dirs=(), use_cache=False).all()))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in written.items():
            (folder / name).write_text(text, "utf-8")
        for old in folder.glob("SGL*.md"):
            if old.name not in written:
                old.unlink()
    except OSError as error:
        return _fail(lang, "unwritable", path=folder, reason=error.strerror or error)
    _say(words(lang, "docs.written", count=len(written), path=folder))
    return EXIT_FINE
