"""``sgdoctor diagnose``: the answer for one log, several, or one that is still being written."""

import argparse
import os
import stat
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sgdoctor.messages import say

if TYPE_CHECKING:
    from rich.console import Console

    from sgdoctor.cli.parsing import Parser
    from sgdoctor.diagnosis.model import State, Verdict
    from sgdoctor.diagnosis.verdict import LiveClock
    from sgdoctor.logs.sources import LiveInput, LogSource
    from sgdoctor.rules.base import RuleBase

FORMATS: Final = ("text", "json", "md", "sarif")
EXIT_FINE: Final = 0
EXIT_UNUSABLE: Final = 2
EXIT_FAILED: Final = 3
EXIT_WARNINGS: Final = 4
EXIT_UNDETERMINED: Final = 5
# From the best to the worst: an input that could not be read may have held anything.
_WORSE: Final = (EXIT_FINE, EXIT_WARNINGS, EXIT_UNDETERMINED, EXIT_FAILED, EXIT_UNUSABLE)

_QUIET_SECONDS: Final = 1.5
# A busy server is never quiet; it is looked at this often all the same.
_BUSY_SECONDS: Final = 10.0
_IDLE_LOOK_SECONDS: Final = 30.0
_SHOWN_PROBLEMS: Final = 3


@dataclass(frozen=True, slots=True)
class _Answer:
    """What was found in one input: its verdicts, the newest attempt last."""

    name: str
    verdicts: "list[Verdict]"


def configure(parser: "Parser") -> None:
    """Adds the arguments of ``diagnose``."""
    lang = parser.lang
    parser.description = say(lang, "diagnose.about")
    parser.add_argument("files", nargs="+", metavar="FILE", help=say(lang, "diagnose.file"))
    parser.add_argument("--all-attempts", action="store_true", help=say(lang, "diagnose.all_attempts"))
    parser.add_argument("--format", choices=FORMATS, default="text", help=say(lang, "diagnose.format"))
    for name in ("facts", "phases", "notices"):
        parser.add_argument(f"--{name}", action="store_true", help=say(lang, f"diagnose.{name}"))
    parser.add_argument("--no-redact", action="store_true", help=say(lang, "diagnose.no_redact"))
    parser.add_argument("--rules", metavar="DIR", action="append", default=[], help=say(lang, "diagnose.rules"))


def run(arguments: argparse.Namespace, lang: str) -> int:
    """Diagnoses every input; the exit code is that of the worst one."""
    from sgdoctor.cli.main import complain
    from sgdoctor.errors import UserError
    from sgdoctor.report.safe import printable

    if arguments.files.count("-") > 1:
        return complain(say(lang, "error.stdin_twice"), lang)
    for folder in arguments.rules:
        if not Path(folder).is_dir():
            return complain(say(lang, "error.rules_folder", given=printable(folder)), lang)
    base = rule_base_of(arguments.rules)
    report_problems(base, lang)
    writer = _Writer(arguments, lang)
    codes = []
    for target in arguments.files:
        try:
            answer = _diagnose(target, base, arguments, writer, lang)
        except UserError as error:
            codes.append(complain(printable(error.text(lang)), lang))
            continue
        codes.append(exit_code(answer.verdicts[-1].state))
        writer.add(answer)
    writer.close()
    return max(codes, key=_WORSE.index)


def exit_code(state: "State") -> int:
    """The exit code for the state of the newest attempt."""
    from sgdoctor.diagnosis.model import State

    return {
        State.HEALTHY: EXIT_FINE,
        State.STARTING: EXIT_FINE,
        State.DEGRADED: EXIT_WARNINGS,
        State.STALLED: EXIT_WARNINGS,
        State.FAILED: EXIT_FAILED,
        State.UNDETERMINED: EXIT_UNDETERMINED,
    }[state]


def rule_base_of(folders: list[str]) -> "RuleBase":
    """The rules in force, with those of more folders of the user."""
    from sgdoctor.rules.base import load_rule_base

    if not folders:
        return load_rule_base()
    from sgdoctor.rules.locate import user_dirs

    return load_rule_base(user_dirs=[*user_dirs(), *map(Path, folders)])


def report_problems(base: "RuleBase", lang: str) -> None:
    """A mistake in a rule of the user is said once and does not stop the diagnosis."""
    for problem in base.problems[:_SHOWN_PROBLEMS]:
        _warn(say(lang, "warning.rule", text=problem.in_language(lang)), lang)
    if (rest := len(base.problems) - _SHOWN_PROBLEMS) > 0:
        _warn(say(lang, "warning.more_rules", count=rest), lang)


def _warn(text: str, lang: str) -> None:
    from sgdoctor.report.safe import printable

    sys.stderr.write(printable(say(lang, "error", text=text)) + "\n")


# ---------------------------------------------------------------- inputs


def _diagnose(target: str, base: "RuleBase", arguments: argparse.Namespace, writer: "_Writer", lang: str) -> _Answer:
    from sgdoctor.logs.sources import open_log

    if target == "-" and _is_stream():
        return _follow(base, arguments, writer, lang)
    opener = open_log
    if target != "-" and not os.path.lexists(target):
        from sgdoctor.cli.open_relaunch import tell_open
        from sgdoctor.containers.once import open_file_or_container

        tell_open(target, lang)
        opener = open_file_or_container
    with opener(target) as source:
        return _answer(source, base, arguments, lang)


def _answer(source: "LogSource", base: "RuleBase", arguments: argparse.Namespace, lang: str) -> _Answer:
    from sgdoctor.diagnosis.pipeline import diagnose

    if source.note is not None:
        _warn(source.note.in_language(lang), lang)
    redact = not arguments.no_redact
    verdicts = diagnose(source, base, all_attempts=arguments.all_attempts, redact=redact)
    return _Answer(source.name, verdicts)


def _is_stream() -> bool:
    """Whether standard input is a pipe, a socket or a terminal: something that can still grow."""
    from sgdoctor.errors import UserError

    try:
        return not stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
    except (OSError, ValueError, AttributeError):
        raise UserError("stdin: it is closed", "stdin：已关闭") from None


def _follow(base: "RuleBase", arguments: argparse.Namespace, writer: "_Writer", lang: str) -> _Answer:
    """Reads standard input to its end, saying on the way how the server stands."""
    from sgdoctor.logs.sources import LiveInput

    with LiveInput(sys.stdin.fileno()) as live:
        # Ctrl-C: the person has seen enough; the answer so far is still due.
        with suppress(KeyboardInterrupt):
            _watch(live, base, writer)
        with live.finished() as source:
            return _answer(source, base, arguments, lang)


def _watch(live: "LiveInput", base: "RuleBase", writer: "_Writer") -> None:
    """Returns at the end of the stream; until then says each change of state, once the input is quiet."""
    from sgdoctor.diagnosis.verdict import LiveClock

    began = last_output = last_look = time.monotonic()
    seen = 0
    while True:
        arrived = live.read_available(_QUIET_SECONDS)
        if live.eof:
            return
        now = time.monotonic()
        if arrived:
            last_output = now
        pause = _BUSY_SECONDS if arrived else _IDLE_LOOK_SECONDS if live.size == seen else 0.0
        if now - last_look < pause or not live.size or not writer.says_changes or live.packed:
            continue
        seen, last_look = live.size, now
        writer.say_change(live.name, _look(live, base, LiveClock(now - last_output, now - began), redact=writer.redact))


def _look(live: "LiveInput", base: "RuleBase", clock: "LiveClock", *, redact: bool) -> "Verdict":
    from sgdoctor.diagnosis.pipeline import diagnose_bytes

    data = live.map()
    try:
        return diagnose_bytes(data, live.name, base, live=clock, redact=redact)[-1]
    finally:
        if not isinstance(data, bytes):
            data.close()


# ---------------------------------------------------------------- output


class _Writer:
    """Writes answers in the format asked for."""

    def __init__(self, arguments: argparse.Namespace, lang: str) -> None:
        self._arguments = arguments
        self._lang = lang
        self._format: str = arguments.format
        self.redact = not arguments.no_redact
        self._several = len(arguments.files) > 1
        self._collected: list[_Answer] = []
        self._state: State | None = None
        self._written = False
        self._console: Console | None = None

    @property
    def says_changes(self) -> bool:
        """Whether the state is said while the input still grows."""
        return self._format == "text"

    def say_change(self, name: str, verdict: "Verdict") -> None:
        """Prints the state as it is now, if it is another one than last time."""
        if verdict.state is not self._state:
            self._state = verdict.state
            self._print(name, verdict)
            sys.stdout.flush()

    def add(self, answer: _Answer) -> None:
        """Takes the answer for one input."""
        if self._format == "text":
            for verdict in answer.verdicts if self._arguments.all_attempts else answer.verdicts[-1:]:
                self._print(answer.name, verdict)
        self._collected.append(answer)

    def close(self) -> None:
        """Prints what is printed as one document."""
        if self._format == "text" and self._several and self._collected:
            self._overview()
        elif self._format == "json":
            self._json()
        elif self._format == "sarif" and self._collected:
            from sgdoctor.report.sarif import as_sarif

            results = [(answer.name, answer.verdicts[-1]) for answer in self._collected]
            print_json(as_sarif(results, self._lang, redact=self.redact))
        elif self._format == "md":
            from sgdoctor.report.markdown import as_markdown

            pages = [
                as_markdown(verdict, answer.name, self._lang, redact=self.redact)
                for answer in self._collected
                for verdict in answer.verdicts
            ]
            if pages:
                sys.stdout.write("\n---\n\n".join(pages))

    def _print(self, name: str, verdict: "Verdict") -> None:
        from sgdoctor.report.canvas import Canvas, console_for
        from sgdoctor.report.text import Options, print_verdict

        if self._console is None:
            self._console = console_for(sys.stdout)
        if self._written:
            self._console.print()
            if self._several:
                Canvas(self._console, self._lang).rule()
        self._written = True
        options = Options(
            lang=self._lang,
            facts=self._arguments.facts,
            phases=self._arguments.phases,
            notices=self._arguments.notices,
            redact=self.redact,
        )
        print_verdict(self._console, verdict, name, options)

    def _overview(self) -> None:
        """One line for each input."""
        from sgdoctor.report.canvas import Canvas
        from sgdoctor.report.redact import redactor_for
        from sgdoctor.report.safe import printable
        from sgdoctor.report.wording import last_line

        assert self._console is not None
        self._console.print()
        Canvas(self._console, self._lang).rule()
        for answer in self._collected:
            newest = answer.verdicts[-1]
            name = redactor_for(newest, redact=self.redact)(printable(answer.name))
            text = say(self._lang, "report.each_file", name=name, text="".join(last_line(newest, self._lang)))
            self._console.print(printable(text), no_wrap=True, crop=False, overflow="ignore")

    def _json(self) -> None:
        from sgdoctor.report.json import as_data

        documents = []
        for answer in self._collected:
            *earlier, newest = (
                as_data(verdict, answer.name, self._lang, redact=self.redact) for verdict in answer.verdicts
            )
            if self._arguments.all_attempts:
                newest["earlier_attempts"] = earlier
            documents.append(newest)
        if self._several:
            print_json(documents)
        elif documents:
            print_json(documents[0])


def print_json(document: Any) -> None:
    """Prints plain data as JSON; other characters than ASCII as they are, where the output can show them."""
    from sgdoctor.report.safe import json_text

    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    unicode = encoding.lower().replace("-", "").startswith("utf")
    sys.stdout.write(json_text(document, ascii_only=not unicode) + "\n")
