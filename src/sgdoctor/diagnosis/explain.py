"""From hits to causes: which hit is the root, which ones only follow from it, which ones are harmless."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from sgdoctor.diagnosis.course import Course, precedes, seconds_between
from sgdoctor.diagnosis.mildness import fails_a_request, goes_on, is_warning, leaves_no_gpu
from sgdoctor.logs.event import EventKind
from sgdoctor.rules.model import Confidence, Hit, Role, Rule, Severity

_BADNESS: Final = {severity: rank for rank, severity in enumerate(Severity)}
_SURENESS: Final = {confidence: rank for rank, confidence in enumerate(Confidence)}
_SERIOUS: Final = frozenset({Severity.FATAL, Severity.ERROR})
# How long after its cause a process still prints that it dies: 5 s, plus 60 s where it waits for a core dump.
_AFTERMATH_SECONDS: Final = 120.0


class Finding(NamedTuple):
    """All hits of one rule in one attempt.

    Attributes:
        rule: which.
        severity: after the course of the attempt was considered.
        confidence: likewise.
        hits: in log order, the decisive one first.
        captures: of all hits; of a name that several have, the first value.
        followed: what it led to, in log order.
    """

    rule: Rule
    severity: Severity
    confidence: Confidence
    hits: tuple[Hit, ...]
    captures: Mapping[str, Any]
    followed: tuple["Finding", ...] = ()

    @property
    def first(self) -> Hit:
        """The decisive hit."""
        return self.hits[0]

    @property
    def ranks(self) -> tuple[str, ...]:
        """Rank tags of the hits, sorted."""
        return tuple(sorted({hit.event.rank for hit in self.hits if hit.event.rank}))


class Explanation(NamedTuple):
    """What the hits of one attempt mean.

    Attributes:
        diagnoses: what is wrong, the root cause first.
        notices: harmless or informational, in log order.
        signs: texts that say that something failed, without any cause that would explain them; in log order.
    """

    diagnoses: tuple[Finding, ...]
    notices: tuple[Finding, ...]
    signs: tuple[Finding, ...]


class _Node:
    """A finding in the making."""

    def __init__(self, rule: Rule, hits: list[Hit], severity: Severity, confidence: Confidence | None = None) -> None:
        self.rule = rule
        self.confidence = confidence or rule.confidence
        self.hits = hits
        self.severity = severity
        self.parent: _Node | None = None
        self.children: list[_Node] = []

    @property
    def top(self) -> Hit:
        return self.hits[0]

    @property
    def serious(self) -> bool:
        return self.severity in _SERIOUS

    @cached_property
    def only_warned(self) -> bool:
        """Whether it is a failure by its rule, and nothing but warnings tell of it here."""
        return self.rule.severity in _SERIOUS and all(
            _is_mild(hit) and not leaves_no_gpu(hit.event) for hit in self.hits
        )

    @property
    def consequence(self) -> bool:
        return self.rule.role is Role.CONSEQUENCE

    def adopt(self, child: "_Node") -> bool:
        """Makes ``child`` a result of this node; False where it has a cause already or would close a circle."""
        node: _Node | None = self
        while node is not None:
            if node is child:
                return False
            node = node.parent
        if child.parent is not None:
            return False
        child.parent = self
        self.children.append(child)
        return True

    def descendants(self) -> list["_Node"]:
        found: list[_Node] = []
        for child in self.children:
            found += [child, *child.descendants()]
        return found

    def finding(self) -> Finding:
        captures: dict[str, Any] = {}
        for hit in self.hits:
            for name, value in hit.captures.items():
                if captures.get(name) is None:
                    captures[name] = value
        below = sorted(self.descendants(), key=lambda node: node.top.event.line.number)
        return Finding(
            self.rule,
            self.severity,
            self.confidence,
            tuple(self.hits),
            captures,
            tuple(node.alone() for node in below),
        )

    def alone(self) -> Finding:
        return Finding(self.rule, self.severity, self.confidence, tuple(self.hits), self.top.captures)


def explain(hits: Iterable[Hit], course: Course) -> Explanation:
    """Orders the hits of one attempt into causes, consequences and notices."""
    kept, outdone = _contest([hit for hit in hits if _counts(hit, course)])
    nodes = [node for rule_hits in _by_rule(kept) if (node := _weighed(rule_hits, course)) is not None]
    nodes.sort(key=lambda node: node.top.event.line.number)
    by_id = {node.rule.id: node for node in nodes}
    for winner, loser in outdone:
        cause = by_id.get(winner.rule.id)
        if cause is not None and loser.rule.id not in by_id:
            cause.adopt(_Node(loser.rule, [loser], loser.rule.severity))
    _link(nodes)
    silenced = _silenced(nodes)
    live = [node for node in nodes if node not in silenced]
    causes = [node for node in live if not node.consequence and node.severity.is_diagnosis]
    root = _root([node for node in causes if node.parent is None])
    if root is not None:
        _fold_later(root, causes)
    signs = _fold_consequences(live, root, causes, course)
    tops = [node for node in causes if node.parent is None]
    for node in tops:
        node.severity = min(
            [node.severity, *(below.severity for below in node.descendants() if not below.consequence)],
            key=_BADNESS.__getitem__,
        )
    tops.sort(key=lambda node: (node is not root, *_rank(node)))
    return Explanation(
        diagnoses=tuple(node.finding() for node in tops),
        notices=tuple(
            node.finding()
            for node in live
            if node.parent is None and not node.consequence and not node.severity.is_diagnosis
        ),
        signs=tuple(node.finding() for node in signs),
    )


def _rank(node: _Node) -> tuple[int, int, int]:
    return (_BADNESS[node.severity], _SURENESS[node.confidence], node.top.event.line.number)


def _counts(hit: Hit, course: Course) -> bool:
    """Whether a hit says anything: what is printed while a server is stopped on request does not."""
    if not course.after_shutdown(hit.event):
        return True
    if hit.rule.role is Role.CONSEQUENCE or hit.event.kind is EventKind.EXIT:
        return False
    # compose says "Gracefully stopping" as well when the engine never ran, and then why.
    return not hit.rule.severity.is_diagnosis or not course.engine_seen


# ---------------------------------------------------------------- several rules on one event


def _contest(hits: Sequence[Hit]) -> tuple[list[Hit], list[tuple[Hit, Hit]]]:
    """Lets one text have one meaning.

    Returns:
        The hits that stand, and (winner, loser) pairs where the loser matched an outer exception of the winner's chain:
        a result of it, not a worse reading of the same text.
    """
    by_event: dict[tuple[int, int, int], list[Hit]] = {}
    kept: list[Hit] = []
    for hit in hits:
        if hit.weight:
            event = hit.event
            by_event.setdefault((event.line.offset, event.first, event.last), []).append(hit)
        else:
            kept.append(hit)  # of a rule over facts: the line is only where the fact stood
    outdone: list[tuple[Hit, Hit]] = []
    for rivals in by_event.values():
        winner = _winner(rivals) if len(rivals) > 1 else rivals[0]
        for hit in rivals:
            if hit is winner or not _exclusive(winner, hit):
                kept.append(hit)
            elif hit.rule.id != winner.rule.id and hit.depth > winner.depth:
                outdone.append((winner, hit))
    kept.sort(key=lambda hit: hit.event.line.number)
    return kept, outdone


def _winner(rivals: Sequence[Hit]) -> Hit:
    unexplained = [
        hit for hit in rivals if not any(_explains(other.rule, hit.rule) for other in rivals if other is not hit)
    ]
    pool = unexplained or list(rivals)
    framing = [hit for hit in pool if hit.rule.severity is Severity.BENIGN and _begins_with_literal(hit)]
    if framing:
        return max(framing, key=lambda hit: hit.weight)
    # A harmless text in one exception of a chain says nothing about the other exceptions.
    serious = [hit for hit in pool if hit.rule.severity in _SERIOUS and hit.rule.role is Role.CAUSE]
    depths = {hit.depth for hit in serious}
    if serious:
        pool = [hit for hit in pool if hit.rule.severity in _SERIOUS or hit.depth in depths]
    return min(
        pool,
        key=lambda hit: (
            hit.rule.role is Role.CONSEQUENCE,
            hit.depth,
            -hit.weight,
            -_narrowness(hit.rule),
            hit.rule.id,
        ),
    )


def _begins_with_literal(hit: Hit) -> bool:
    """Whether the rule knows how the line begins: then what follows is only quoted in it."""
    literals = (literal for pattern in hit.rule.patterns for literal in pattern.literals)
    return hit.event.kind is EventKind.LINE and any(hit.event.text.startswith(literal) for literal in literals)


def _narrowness(rule: Rule) -> int:
    return max((len(pattern.message) for pattern in rule.patterns), default=0)


def _exclusive(winner: Hit, loser: Hit) -> bool:
    """Whether the winner's reading of the text rules the loser's out."""
    if winner.rule.id == loser.rule.id:
        return winner.depth != loser.depth
    if loser.rule.role is Role.CONSEQUENCE or _explains(winner.rule, loser.rule):
        return False  # folded under its cause later on, with its own lines
    return not {winner.rule.severity, loser.rule.severity} <= {Severity.DEGRADED, Severity.NOTICE}


# ---------------------------------------------------------------- rules of one attempt


def _by_rule(hits: Iterable[Hit]) -> list[list[Hit]]:
    groups: dict[str, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.rule.id, []).append(hit)
    return list(groups.values())


def _weighed(hits: list[Hit], course: Course) -> _Node | None:
    """The hits of one rule as a node, its severity corrected by what happened afterwards; None if it says nothing."""
    rule = hits[0].rule
    if rule.role is Role.CONSEQUENCE and all(hit.weight and is_warning(hit.event) for hit in hits):
        return None
    if rule.role is Role.CAUSE and rule.severity in _SERIOUS and all(_is_mild(hit) for hit in hits):
        return _mild(rule, hits, course)
    if rule.severity is not Severity.FATAL and rule.role is Role.CAUSE:
        return _Node(rule, hits, rule.severity)
    deadly = [hit for hit in hits if not _outlived(hit, course)]
    if deadly:
        if rule.role is Role.CAUSE and course.serving and all(fails_a_request(hit.event) for hit in deadly):
            return _Node(rule, deadly, Severity.ERROR)
        # What a warning said before is no proof: the line of the failure stands first.
        return _Node(rule, sorted(deadly, key=_is_mild), rule.severity)
    if rule.role is Role.CONSEQUENCE:
        return None
    if any(course.served_on(hit.event) and not course.survived(hit.event) for hit in hits):
        return _Node(rule, hits, Severity.ERROR)
    if late := [hit for hit in hits if course.almost_ready(hit.event)]:
        return _Node(rule, late, Severity.DEGRADED, Confidence.POSSIBLE)
    return _Node(rule, hits, Severity.NOTICE)


def _is_mild(hit: Hit) -> bool:
    """Whether the writer of the line went on; of a rule over facts the line is only where the fact stood."""
    return bool(hit.weight) and (is_warning(hit.event) or goes_on(hit.event))


def _mild(rule: Rule, hits: list[Hit], course: Course) -> _Node:
    """A failure that nothing but warnings tell of: what may have led to one, never what certainly did."""
    if rule.severity is Severity.ERROR:
        return _Node(rule, hits, Severity.DEGRADED, Confidence.POSSIBLE)
    if course.serving or any(goes_on(hit.event) or _outlived(hit, course) for hit in hits):
        return _Node(rule, hits, Severity.NOTICE)
    sure = any(leaves_no_gpu(hit.event) for hit in hits)
    return _Node(rule, hits, Severity.FATAL, rule.confidence if sure else Confidence.POSSIBLE)


def _outlived(hit: Hit, course: Course) -> bool:
    if course.survived(hit.event) or course.served_on(hit.event) or course.got_over(hit.event):
        return True
    # What the container engine refused was got over if a start of the server follows.
    return hit.rule.engine == ("docker",) and course.engine_began_after(hit.event)


def _explains(cause: Rule, result: Rule) -> bool:
    return any(result.id in (entry, entry.partition("-")[0]) or entry == result.name for entry in cause.explains)


def _link(nodes: Sequence[_Node]) -> None:
    for cause in nodes:
        if cause.rule.severity is Severity.FATAL and cause.severity is Severity.NOTICE:
            continue  # the server got over it, so it explains nothing
        for result in nodes:
            if cause.only_warned and not result.only_warned:
                continue  # what a program only warned of did not end it
            if result is not cause and _explains(cause.rule, result.rule):
                cause.adopt(result)


def _silenced(nodes: Sequence[_Node]) -> set[_Node]:
    """Everything below a harmless cause is harmless too."""
    silenced: set[_Node] = set()
    for node in nodes:
        if node.parent is None and not node.severity.is_diagnosis and not node.consequence:
            silenced.update(node.descendants())
    return silenced


def _root(tops: Sequence[_Node]) -> _Node | None:
    """The earliest fatal cause that nothing explains; a mere possibility only where nothing surer failed."""
    fatal = [node for node in tops if _fatal(node)]
    surer = [node for node in fatal if node.confidence is not Confidence.POSSIBLE]
    root: _Node | None = None
    for node in surer or fatal:
        if root is None or precedes(node.top.event, root.top.event):
            root = node
    return root


def _fatal(node: _Node) -> bool:
    return node.severity is Severity.FATAL or any(
        below.severity is Severity.FATAL and not below.consequence for below in node.descendants()
    )


def _fold_later(root: _Node, causes: Sequence[_Node]) -> None:
    for node in causes:
        if node is not root and node.parent is None and node.serious and precedes(root.top.event, node.top.event):
            root.adopt(node)


def _fold_consequences(
    nodes: Sequence[_Node], root: _Node | None, causes: Sequence[_Node], course: Course
) -> list[_Node]:
    """Puts every consequence under the cause it follows from; returns those that follow from nothing known."""
    errors = [node for node in causes if node.parent is None and node.severity is Severity.ERROR]
    signs: list[_Node] = []
    for node in nodes:
        if not node.consequence or node.parent is not None:
            continue
        cause = root or next((error for error in errors if _led_to(error, node, course)), None)
        if cause is None:
            signs.append(node)
        elif cause.adopt(node) and node.severity is Severity.FATAL and cause.severity is Severity.ERROR:
            cause.severity = Severity.FATAL
    return signs


def _led_to(error: _Node, consequence: _Node, course: Course) -> bool:
    """Whether an error that need not be deadly was so here: the server died with it."""
    last = error.hits[-1].event
    if course.served_on(last):
        return False
    gap = seconds_between(last.time, consequence.top.event.time)
    return gap is None or abs(gap) <= _AFTERMATH_SECONDS
