"""What the command palette offers: every action, the starts, other containers, the rules by id, the themes."""

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.types import IgnoreReturnCallbackType

from sgdoctor.diagnosis.wording import state_label
from sgdoctor.report.safe import printable
from sgdoctor.rules.template import spoken
from sgdoctor.tui.keys import Group, Scope, shown_key
from sgdoctor.tui.words import tell

if TYPE_CHECKING:
    from sgdoctor.tui.app import SgdoctorApp


class Offer(NamedTuple):
    """One entry.

    Attributes:
        title: what is searched.
        help: a second line; may be empty.
        run: what it does.
        common: whether it is offered before anything was typed.
    """

    title: str
    help: str
    run: IgnoreReturnCallbackType
    common: bool = False


class Offers(Provider):
    """Searches the offers of the app."""

    _containers: Sequence[str] = ()

    async def startup(self) -> None:
        """Ask for the containers of now; the engine may take its time, so not in this thread."""
        self._containers = await asyncio.to_thread(_app_of(self).options.containers)

    async def discover(self) -> Hits:
        """What is offered before anything was typed."""
        for offer in self._offers():
            if offer.common:
                yield DiscoveryHit(Content(offer.title), offer.run, text=offer.title, help=offer.help or None)

    async def search(self, query: str) -> Hits:
        """What fits."""
        matcher = self.matcher(query)
        for offer in self._offers():
            score = matcher.match(offer.title)
            if score > 0:
                yield Hit(score, matcher.highlight(offer.title), offer.run, text=offer.title, help=offer.help or None)

    def _offers(self) -> Iterator[Offer]:
        app = _app_of(self)
        yield from _actions(app)
        yield from _attempts(app)
        for name in self._containers:
            title = tell(app.view.lang, "palette.container", name=printable(name))
            yield Offer(title, "", partial(app.watch_container, name), common=True)
        yield from _rules(app)
        yield from _themes(app)


def _app_of(provider: Provider) -> "SgdoctorApp":
    from sgdoctor.tui.app import SgdoctorApp  # noqa: PLC0415 - the app offers this provider

    app = provider.app
    assert isinstance(app, SgdoctorApp)
    return app


def _actions(app: "SgdoctorApp") -> Iterator[Offer]:
    for key in app.view.keys:
        if (
            key.scope is Scope.APP
            and key.group is not Group.MOVE
            and key.action not in ("command_palette", "interrupt")
        ):
            keys = " ".join(map(shown_key, key.keys))
            yield Offer(app.view.help_of(key), keys, partial(app.run_action, key.action), common=True)


def _attempts(app: "SgdoctorApp") -> Iterator[Offer]:
    lang, snapshot = app.view.lang, app.view.snapshot
    for attempt in reversed(snapshot.attempts if snapshot is not None else ()):
        state = state_label(attempt.state).in_language(lang)
        title = tell(lang, "palette.attempt", number=attempt.number, state=state)
        yield Offer(title, printable(attempt.title.in_language(lang)), partial(app.choose_attempt, attempt.number))


def _rules(app: "SgdoctorApp") -> Iterator[Offer]:
    base, lang = app.options.base, app.view.lang
    if base is None:
        return
    for rule in base.all():
        title = tell(lang, "palette.rule", rule=rule.id, title=spoken(printable(rule.title.in_language(lang)), lang))
        yield Offer(title.replace("`", ""), rule.name, partial(app.explain_rule, rule.id))


def _themes(app: "SgdoctorApp") -> Iterator[Offer]:
    for name in sorted(app.available_themes):
        yield Offer(tell(app.view.lang, "palette.theme", name=name), "", partial(app.use_theme, name))
