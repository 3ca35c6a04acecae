"""The rule base as the matcher and the diagnosis use it: rules are decoded when they hit."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sgdoctor.logs.literals import LiteralIndex
from sgdoctor.rules.model import Rule
from sgdoctor.texts import Text


class Entry(NamedTuple):
    """One rule that is not decoded yet.

    Attributes:
        id: of the rule.
        name: of the rule.
        body: its plain form as JSON.
    """

    id: str
    name: str
    body: bytes


class RuleBase:
    """All rules that are in force.

    Attributes:
        literals: every literal of every rule, and the texts that rules look for ``elsewhere``, in a fixed order.
        literal_rules: by literal, the numbers of the rules that it can hit; none for the texts of ``elsewhere``.
        fact_rule_numbers: numbers of the rules that match facts.
        problems: mistakes in rule files, which are left out, one line each.
        muted: ids that the user silenced.
        entries: the rules as they are kept; the number of a rule is its place here.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        literals: Sequence[str],
        literal_rules: Sequence[Sequence[int]],
        fact_rules: Sequence[int],
        *,
        problems: Sequence[Text] = (),
        muted: Sequence[str] = (),
        cache: Path | None = None,
    ) -> None:
        self.literals = tuple(literals)
        self.literal_rules = tuple(map(tuple, literal_rules))
        self.fact_rule_numbers = tuple(fact_rules)
        self.problems = tuple(problems)
        self.muted = tuple(muted)
        self.entries = tuple(entries)
        self._cache = cache
        self._rules: dict[int, Rule] = {}
        self._index: LiteralIndex | None = None

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def index(self) -> LiteralIndex:
        """An index over ``literals``."""
        if self._index is None:
            self._index = self.index_with(())
        return self._index

    def literals_with(self, extra: Sequence[str]) -> tuple[str, ...]:
        """``literals``, then those of ``extra`` that are not among them: the numbering of ``index_with(extra)``."""
        return tuple(dict.fromkeys((*self.literals, *extra)))

    def index_with(self, extra: Sequence[str]) -> LiteralIndex:
        """An index over ``literals_with(extra)``, compiled once and then kept in the cache directory.

        Raises:
            ValueError: an empty literal in ``extra``.
        """
        from sgdoctor.rules.compiled import cached_index  # noqa: PLC0415 - `compiled` makes rule bases

        return cached_index([literal.encode() for literal in self.literals_with(extra)], self._cache)

    def rule_at(self, number: int) -> Rule:
        """The rule with this number (``literal_rules`` and ``fact_rule_numbers`` hold such numbers)."""
        rule = self._rules.get(number)
        if rule is None:
            from sgdoctor.rules.decoding import decode  # noqa: PLC0415 - a healthy log needs none of it

            rule = self._rules[number] = decode(json.loads(self.entries[number].body))
        return rule

    def rule(self, id_or_name: str) -> Rule:
        """The rule with this id (in any case) or name.

        Raises:
            KeyError: there is none.
        """
        for number, entry in enumerate(self.entries):
            if entry.id == id_or_name.upper() or entry.name == id_or_name:
                return self.rule_at(number)
        raise KeyError(id_or_name)

    def all(self) -> Iterator[Rule]:
        """Every rule, by id."""
        return map(self.rule_at, range(len(self.entries)))

    @property
    def fact_rules(self) -> tuple[Rule, ...]:
        """The rules that have a pattern over facts."""
        return tuple(map(self.rule_at, self.fact_rule_numbers))


def load_rule_base(*, user_dirs: Sequence[Path] | None = None, use_cache: bool = True) -> RuleBase:
    """The built-in rules, and those of the user over them.

    Args:
        user_dirs: directories with rules of the user, later ones win; None for the usual ones
            (``locate.user_dirs``).
        use_cache: whether to read and write the compiled form in the cache directory.

    Returns:
        The rules whose files have no mistake and are no drafts any more; ``problems`` names the others. The tests of
        sgdoctor see to it that none of its own are among those.
    """
    from sgdoctor.rules import compiled, locate  # noqa: PLC0415 - `compiled` makes rule bases

    users = locate.user_dirs() if user_dirs is None else tuple(user_dirs)
    directories = (locate.built_in_dir(), *users)
    if not use_cache:
        return _from_yaml(directories, None)
    cache = locate.cache_dir()
    key = compiled.key_of(directories)
    base = compiled.read_rules(cache, directories, key)
    if base is None:
        base = _from_yaml(directories, cache)
        compiled.write_rules(cache, directories, key, base)
    return base


def _from_yaml(directories: Sequence[Path], cache: Path | None) -> RuleBase:
    from sgdoctor.rules.drafts import left_out  # noqa: PLC0415 - pydantic and yaml
    from sgdoctor.rules.loading import load_rules  # noqa: PLC0415 - the same

    loaded = load_rules(directories[0], directories[1:])
    drafts = {source.model.id: problem for source in loaded.sources if (problem := left_out(source)) is not None}
    problems = (*loaded.built_in_problems, *loaded.user_problems, *drafts.values())
    return assemble(
        [source.plain for source in loaded.sources if source.model.id not in drafts],
        problems=[Text(problem.shown("en"), problem.shown("zh")) for problem in problems if not problem.warning],
        muted=loaded.muted,
        cache=cache,
    )


def assemble(
    rules: Sequence[Mapping[str, Any]],
    *,
    problems: Sequence[Text] = (),
    muted: Sequence[str] = (),
    cache: Path | None = None,
) -> RuleBase:
    """A rule base of rules in their plain form (see ``decoding.decode``)."""
    from sgdoctor.rules.decoding import elsewhere_of, literals_of  # noqa: PLC0415

    rules = sorted(rules, key=lambda plain: str(plain["id"]))
    table: dict[str, list[int]] = {}
    for number, plain in enumerate(rules):
        for literal in literals_of(plain):
            numbers = table.setdefault(literal, [])
            if number not in numbers:
                numbers.append(number)
        for text in elsewhere_of(plain):
            table.setdefault(text, [])
    return RuleBase(
        [Entry(plain["id"], plain["name"], _body(plain)) for plain in rules],
        list(table),
        list(table.values()),
        [
            number
            for number, plain in enumerate(rules)
            if any(pattern.get("event") == "fact" for pattern in plain["match"])
        ],
        problems=problems,
        muted=muted,
        cache=cache,
    )


def _body(plain: Mapping[str, Any]) -> bytes:
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()
