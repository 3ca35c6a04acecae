"""argparse in two languages, with errors of one line that say what was probably meant."""

import argparse
import os
import re
import shlex
from collections.abc import Callable, Iterable
from typing import Any, Final, NoReturn

from sgdoctor.messages import LANGUAGES, MESSAGES, say
from sgdoctor.patterns import lazy_pattern
from sgdoctor.report.wrapping import is_wide, wrapped


class UsageError(Exception):
    """The command line cannot be understood; the message is one line in the user's language."""


# argparse says what is wrong only in words (Python 3.11 to 3.14).
_CHOICE: Final = lazy_pattern(
    r"argument (?P<name>\S.*?): invalid choice: (?P<given>.+?) \(choose from (?P<choices>.+)\)$"
)
_VALUE: Final = lazy_pattern(
    r"argument (?P<name>\S.*?): (?:expected (?:one|at least one) argument.*|expected \d+ arguments?)$"
)
_NO_VALUE: Final = lazy_pattern(r"argument (?P<name>\S.*?): ignored explicit argument .+$")
_REQUIRED: Final = lazy_pattern(r"the following arguments are required: (?P<names>.+)$")
_UNKNOWN: Final = lazy_pattern(r"unrecognized arguments: (?P<given>.+)$", re.DOTALL)
_AMBIGUOUS: Final = lazy_pattern(r"ambiguous option: (?P<given>\S+).* could match (?P<choices>.+)$")

_FILLER: Final = "\0"

# Lower, and words that share no more than an ending are suggested for each other.
_LIKENESS: Final = 0.7


def close_to(given: str, known: Iterable[str]) -> str:
    """The known word that was probably meant; empty if none is close."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(given, list(known), n=1, cutoff=_LIKENESS)), "")


def hint(lang: str, given: str, known: Iterable[str]) -> str:
    """``; did you mean ...?`` or nothing."""
    close = close_to(given, known)
    return say(lang, "error.did_you_mean", close=close) if close else ""


class Parser(argparse.ArgumentParser):
    """An argument parser that speaks ``lang`` and raises ``UsageError`` where argparse would leave the process."""

    def __init__(self, *, lang: str = "en", **options: Any) -> None:
        options |= {"add_help": False, "allow_abbrev": False, "formatter_class": _formatter(lang)}
        super().__init__(**options)
        self.lang = lang
        self._positionals.title = say(lang, "arguments")
        self._optionals.title = say(lang, "options")
        self.add_argument("-h", "--help", action="help", help=say(lang, "help.help"))
        self.dashed_values: frozenset[str] = frozenset()
        """Options whose value may itself begin with a dash, as a flag does: argparse would take it for an option."""
        self.dashed_words = False
        """Whether arguments without an option may begin with a dash, too."""
        self.takes_command = False
        """Whether the arguments are a command with flags of its own, which stands behind ``--``."""

    def add_language(self) -> None:
        """``--lang``, taken before and after the command."""
        self.add_argument(
            "--lang", choices=LANGUAGES, default=argparse.SUPPRESS, help=say(self.lang, "help.lang"), metavar="en|zh"
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As of argparse, with the values of ``dashed_values`` taken as values."""
        found, unread = super().parse_known_args(args if args is None else self._joined(list(args)), namespace)
        if self.takes_command and unread and unread[0].startswith("-"):
            raise UsageError(self._unknown(unread[0]))
        return found, unread

    def _joined(self, arguments: list[str]) -> list[str]:
        """The arguments with ``--option=value`` for ``--option value``, and dashed words behind ``--``."""
        joined: list[str] = []
        words: list[str] = []
        waiting = iter(arguments)
        for argument in waiting:
            if argument == "--":
                return [*joined, argument, *words, *waiting]
            if self.dashed_words and argument[:1] == "-" and argument.partition("=")[0] not in self.every_option():
                words.append(argument)
                continue
            value = next(waiting, None) if argument in self.dashed_values else None
            joined.append(argument if value is None else f"{argument}={value}")
        return [*joined, "--", *words] if words else joined

    def error(self, message: str) -> NoReturn:
        """Raises ``UsageError`` with argparse's message in the user's language."""
        raise UsageError(self._explained(message))

    def every_option(self) -> set[str]:
        """The options of this parser and of its commands: argparse finds unknown ones only at the top."""
        options = set(self._option_string_actions)
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse has no public name for it
                for parser in action.choices.values():
                    options |= parser.every_option() if isinstance(parser, Parser) else set()
        return options

    def _required(self) -> list[str]:
        """The arguments that have to be given, as one types them."""
        words = []
        for action in self._actions:
            if action.required and action.option_strings:
                words.append(
                    f"{action.option_strings[-1]} {_translated(str(action.metavar or action.dest.upper()), self.lang)}"
                )
            elif action.required:
                words.append(_translated(str(action.metavar or action.dest), self.lang))
        return words

    def _unknown(self, given: str) -> str:
        """About an option that is none of this parser's."""
        name = given.partition("=")[0]
        told = hint(self.lang, name, self.every_option())
        if self.takes_command:
            told += say(self.lang, "error.or_command_behind" if told else "error.command_behind", program=self.prog)
        return say(self.lang, "error.unknown_option", given=name, hint=told)

    def _explained(self, message: str) -> str:
        lang = self.lang
        if found := _UNKNOWN.match(message):
            given = found["given"].split()[0]
            if not given.startswith("-"):
                return say(lang, "error.unknown_argument", given=given)
            return self._unknown(given)
        if found := _CHOICE.match(message):
            given = found["given"].strip("'\"")
            choices = [choice.strip().strip("'\"") for choice in found["choices"].split(",")]
            if found["name"] == "COMMAND" and os.path.isfile(given):  # noqa: PTH113 - pathlib is slow to load
                return say(lang, "error.file_as_command", given=shlex.quote(given))
            if found["name"] == "COMMAND":
                return say(lang, "error.unknown_command", given=given, hint=hint(lang, given, choices))
            values = {"given": given, "choices": ", ".join(choices), "hint": hint(lang, given, choices)}
            if not found["name"].startswith("-"):
                return say(lang, "error.choice_unnamed", **values)
            return say(lang, "error.choice", name=found["name"], **values)
        if found := _REQUIRED.match(message):
            usage = " ".join([self.prog, *(("--",) if self.takes_command else ()), *self._required()])
            names = ", ".join(_translated(name, lang) for name in found["names"].split(", "))
            return say(lang, "error.missing", names=names, usage=usage, program=self.prog)
        if found := _VALUE.match(message):
            return say(lang, "error.needs_value", name=found["name"])
        if found := _NO_VALUE.match(message):
            return say(lang, "error.no_value", name=found["name"])
        if found := _AMBIGUOUS.match(message):
            return say(lang, "error.ambiguous", given=found["given"], choices=found["choices"])
        return say(lang, "error.usage", text=message)


def _translated(word: str, lang: str) -> str:
    """What stands for a value in help, in the user's language."""
    return "|".join(say(lang, f"metavar.{part}") if f"metavar.{part}" in MESSAGES else part for part in word.split("|"))


def _formatter(lang: str) -> Callable[..., argparse.HelpFormatter]:
    colon = "：" if lang == "zh" else ":"

    class Formatter(argparse.HelpFormatter):
        def add_usage(
            self,
            usage: str | None,
            actions: Iterable[argparse.Action],
            groups: Iterable[argparse._MutuallyExclusiveGroup],
            prefix: str | None = None,
        ) -> None:
            super().add_usage(
                usage, actions, groups, _as_long_as_wide(say(lang, "usage") if prefix is None else prefix)
            )

        def format_help(self) -> str:
            # argparse puts the colon behind a heading itself (Python 3.11 to 3.14).
            text = super().format_help().replace(_FILLER, "")
            for key in ("arguments", "options", "commands", "actions"):
                heading = say(lang, key)
                text = text.replace(f"\n{heading}:\n", f"\n{heading}{colon}\n")
            return text

        def _metavar_formatter(self, action: argparse.Action, default_metavar: str) -> Callable[[int], tuple[str, ...]]:
            form = super()._metavar_formatter(action, default_metavar)
            return lambda size: tuple(_as_long_as_wide(_translated(word, lang)) for word in form(size))

        def _format_action(self, action: argparse.Action) -> str:
            # Its own line would only repeat the heading above the commands.
            if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - argparse has no public name for it
                return "".join(self._format_action(one) for one in action._get_subactions())  # noqa: SLF001
            return super()._format_action(action)

        def _split_lines(self, text: str, width: int) -> list[str]:
            return _wrap(text, width)

        def _fill_text(self, text: str, width: int, indent: str) -> str:
            return "\n".join(indent + line for line in _wrap(text, width - len(indent)))

    return Formatter


def _wrap(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` columns (textwrap counts a Chinese character as one and never breaks between two)."""
    text = " ".join(text.split())
    return [text[start:end].rstrip() for start, end in wrapped(text, width, _columns)] if text else []


def _as_long_as_wide(text: str) -> str:
    """The text with as many characters as it has columns: argparse lays out by their number."""
    return "".join(character + _FILLER if is_wide(character) else character for character in text)


def _columns(text: str) -> int:
    return sum(2 if is_wide(character) else 1 for character in text)
