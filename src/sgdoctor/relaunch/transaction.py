"""A relaunch as a journalled transaction: another container takes the place of one, or everything is as before.

Each step looks at what is there and does what is missing, so that it can be taken again after its answer was lost or
its process was killed. The order is the one that leaves a way back at every moment: the new container is made and
compared while the old one still serves, the old one is only renamed, and never do both run.
"""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sgdoctor.containers.client import RefusedError
from sgdoctor.diagnosis.model import Verdict
from sgdoctor.errors import UserError
from sgdoctor.launch.inspection.reading import mapping
from sgdoctor.relaunch import texts
from sgdoctor.relaunch.compare import differences, same_settings
from sgdoctor.relaunch.engine import LABEL, NO_POLICY, Engine, name_of, runs
from sgdoctor.relaunch.journal import Journal
from sgdoctor.relaunch.model import (
    Ending,
    Outcome,
    Patience,
    Readiness,
    Step,
    StepState,
    Watcher,
)
from sgdoctor.relaunch.saving import Attachment, Saved, save_log
from sgdoctor.relaunch.steps import FailedError, Steps
from sgdoctor.texts import Text

_POLL: Final = 0.05
_END_SECONDS: Final = 30.0
# So long an engine may still be making a container for somebody who was killed while asking for it.
_CREATING_SECONDS: Final = 2.0
_AGAIN_SECONDS: Final = 5.0
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_ITS_OWN_FAULT: Final = 500
_RESTORED: Final = "-restored"


class Transaction(Steps):
    """One relaunch, from its journal; arguments as of ``Steps``."""

    def __init__(
        self,
        engine: Engine,
        journal: Journal,
        *,
        readiness: Readiness,
        patience: Patience,
        watcher: Watcher,
        root: Path | None = None,
    ) -> None:
        super().__init__(engine, journal, readiness=readiness, patience=patience, watcher=watcher, root=root)
        self._attached: Attachment | None = None
        self._refused = ""

    # ------------------------------------------------------------ on

    def _go(self) -> None:
        held = self._journal.begun(Step.HOLD)
        if not self._intent.adopt:
            self._do(Step.CREATE, self._create)
        if not held:
            self._do(Step.COMPARE, self._compare)
        if self._intent.removes_itself and self._old() is not None:
            self._do(Step.SAVE_LOG, self._save_old)
        self._do(Step.HOLD, self._hold)
        self._do(Step.STOP, self._stop)
        self._do(Step.STEP_ASIDE, self._step_aside)
        self._do(Step.TAKE_NAME, self._take_name)
        self._do(Step.START, self._start)
        self._do(Step.READY, self._ready)
        self._do(Step.SETTLE, self._settle)

    def _create(self) -> dict[str, str]:
        new = self._make(self._journal.id, self._intent.beside, self._intent.body)
        self._connect(new, self._intent.connects)
        return {"new": new}

    def _make(self, label: str, name: str, body: Mapping[str, Any]) -> str:
        """Make a container, unless it is there."""
        if made := self._engine.made_by(label):
            return made[0]
        labels = {**mapping(body.get("Labels")), LABEL: label}
        try:
            return self._engine.create(name, {**body, "Labels": labels}, self._intent.platform)
        except RefusedError as error:
            # The engine was still making it for a request whose answer was lost.
            if error.status == _CONFLICT and (made := self._engine.made_by(label)):
                return made[0]
            raise self._not_created(error, name) from None

    def _not_created(self, error: RefusedError, name: str) -> FailedError:
        image = str(self._intent.body.get("Image") or self._intent.original.get("Image") or "")
        if error.status == _NOT_FOUND and "image" in error.reason.lower():
            return FailedError(texts.image_gone(image, error.reason))
        if error.status == _CONFLICT:
            return FailedError(texts.name_taken(name, error.reason))
        return FailedError(error.message)

    def _connect(self, container: str, connects: tuple[tuple[str, Mapping[str, Any]], ...]) -> None:
        if not connects:
            return
        there = mapping(mapping((self._engine.inspect(container) or {}).get("NetworkSettings")).get("Networks"))
        for network, endpoint in connects:
            if network not in there:
                self._engine.connect(network, container, endpoint)

    def _compare(self) -> None:
        if (displaced := self._displaced()) is not None:
            raise FailedError(displaced)
        if changed := same_settings(self._intent.old, self._old() or {}):
            raise FailedError(texts.changed_meanwhile(self._intent.container, changed))
        if self._intent.adopt:
            return
        new = self._new()
        image = self._engine.client.image_data(str(new["Image"]))
        found = differences(self._intent.body, self._intent.connects, image, new)
        if lost := [one for one in found if one.is_loss]:
            raise FailedError(texts.lost(lost))
        if found:
            self._notes.append(texts.added(found))

    def _save_old(self) -> None:
        self._keep(save_log(self._engine.client, self._intent.old_id, self._root))

    def _hold(self) -> None:
        old = self._old()
        if old is not None and _policy(old).get("Name") not in ("no", ""):
            self._set_policy(self._intent.old_id, NO_POLICY)

    def _set_policy(self, container: str, policy: Mapping[str, Any]) -> None:
        limit = time.monotonic() + _AGAIN_SECONDS
        while True:
            try:
                self._engine.set_policy(container, policy)
            except RefusedError as error:
                # "cannot update a stopped container": it ended at this moment, as in a crash loop it does all the time.
                if error.status < _ITS_OWN_FAULT or time.monotonic() > limit:
                    raise
                time.sleep(_POLL)
            else:
                return

    def _stop(self) -> None:
        intent = self._intent
        self._until(self._stopped)
        if intent.removes_itself and intent.ran:
            self._until(lambda: self._old() is None)
            return
        old = self._old()
        if old is None and not intent.removes_itself:
            raise FailedError(texts.old_gone(intent.container))
        if old is not None and runs(old):
            raise FailedError(texts.OLD_RUNS)

    def _stopped(self) -> bool:
        """Stop the old container; a restart of a crash loop that was under way may come through once more."""
        old = self._old()
        if old is None or not runs(old):
            return True
        own = mapping(old.get("Config")).get("StopTimeout") or 0
        try:
            self._engine.stop(self._intent.old_id, max(self._patience.stop, own))
        except RefusedError as error:
            if error.status != _NOT_FOUND:  # it ended by itself, and is gone
                raise
        return False

    def _step_aside(self) -> None:
        old = self._old()
        if old is not None and name_of(old) != self._intent.aside:
            self._rename(self._intent.old_id, self._intent.aside)

    def _take_name(self) -> None:
        new = self._new()
        if name_of(new) != self._intent.container:
            self._rename(str(new["Id"]), self._intent.container)

    def _rename(self, container: str, name: str) -> None:
        try:
            self._engine.rename(container, name)
        except RefusedError as error:
            if error.status == _CONFLICT:
                raise FailedError(texts.name_taken(name, error.reason)) from None
            raise

    def _start(self) -> None:
        old = self._old()
        if old is not None and runs(old):
            raise FailedError(texts.OLD_RUNS)
        new = self._new()
        if runs(new):
            return
        look = self._engine.client.inspect(str(new["Id"]))
        if mapping(new.get("HostConfig")).get("AutoRemove") and look is not None and self._attached is None:
            self._attached = Attachment(self._engine, look.container)
        try:
            self._engine.start(str(new["Id"]))
        except RefusedError as error:
            self._refused = error.reason
            raise

    def _settle(self) -> None:
        wanted = self._intent.policy
        new = self._new()
        if self._attached is not None:
            self._attached.close()
        if (name := name_of(new)) != self._intent.container:
            self._notes.append(texts.renamed(self._intent.container, name))
        if wanted.get("Name") not in (None, "", "no") and _policy(new) != wanted:
            self._set_policy(str(new["Id"]), wanted)

    # ------------------------------------------------------------ back

    def back(self, reason: Text, verdict: Verdict | None = None) -> Outcome:
        """Everything as it was before; see ``Steps.back``."""
        saved = Saved()

        def save() -> dict[str, str]:
            nonlocal saved
            saved = self._keep(self._save_new())
            return {"log": str(saved.path)} if saved.path is not None else {}

        nameless: Text | None = None
        try:
            self._do(Step.SAVE_LOG, save, {"back": "1"})
            self._do(Step.REMOVE, self._remove_new)
            try:
                self._do(Step.GIVE_NAME_BACK, self._give_name_back)
            except FailedError as failure:
                self._leave_to_others()
                # Somebody has its name. That it serves comes first.
                nameless = failure.reason
            self._do(Step.RESTORE_POLICY, self._restore_policy)
            self._do(Step.RESTART_OLD, self._restart_old)
        except (FailedError, UserError) as error:
            why = error.reason if isinstance(error, FailedError) else error.message
            return self._open(texts.still_open(reason, nameless or why), self._judged(verdict, saved))
        if nameless is not None:
            return self._open(texts.still_open(reason, nameless), self._judged(verdict, saved))
        old = self._place_of_old()
        touched = self._journal.begun(Step.HOLD)
        return self._finish(
            Outcome(
                Ending.BACK if touched else Ending.REFUSED,
                container=str(old["Id"]) if old else "",
                reason=reason,
                log=self._journal.known.get("log"),
                verdict=self._judged(verdict, saved),
                notes=tuple(self._notes),
            )
        )

    def _save_new(self) -> Saved:
        new = self._find_new() or self._still_coming()
        if self._attached is not None:
            attached, self._attached = self._attached, None
            if new is not None:
                self._engine.remove(str(new["Id"]))
            return attached.save(self._refused, self._root)
        return Saved() if new is None else save_log(self._engine.client, str(new["Id"]), self._root)

    def _still_coming(self) -> dict[str, Any] | None:
        """A container that the engine may be making yet, for a process that was killed meanwhile."""
        begun = [one for one in self._journal.progress if one.step is Step.CREATE]
        refused = self._journal.known.get("lost") != Step.CREATE
        if not begun or begun[-1].state is StepState.DONE or (begun[-1].state is StepState.FAILED and refused):
            return None
        since = (datetime.now(UTC) - begun[-1].time).total_seconds()
        # The clock may have been set back since.
        limit = time.monotonic() + min(_CREATING_SECONDS, _CREATING_SECONDS - since)
        while time.monotonic() < limit:
            if (new := self._find_new()) is not None:
                return new
            time.sleep(_POLL)
        return None

    def _remove_new(self) -> None:
        data = self._find_new()
        if data is None:
            return
        new = str(data["Id"])
        if not self._intent.adopt:
            self._engine.remove(new)
            self._until(lambda: self._engine.inspect(new) is None)
            return
        if _policy(data).get("Name") not in ("no", ""):
            self._set_policy(new, NO_POLICY)
        if runs(data):
            self._engine.stop(new, self._patience.stop)
        if name_of(data) != self._intent.beside:
            self._rename(new, self._intent.beside)

    def _give_name_back(self) -> dict[str, str]:
        intent = self._intent
        old = self._place_of_old()
        if old is None:
            return self._restore() if self._journal.begun(Step.STOP) else {}
        if name_of(old) != intent.container:
            self._rename(str(old["Id"]), intent.container)
        return {}

    def _leave_to_others(self) -> None:
        """Start nothing beside a server that somebody made in the place of this one."""
        holds = self._engine.inspect(self._intent.container)
        if holds is not None and runs(holds):
            old = self._place_of_old()
            raise FailedError(
                texts.other_runs(self._intent.container, name_of(old) if old else "", str(self._journal.path))
            )

    def _restore(self) -> dict[str, str]:
        """Make the old container again, from what is known of it: it removed itself, or somebody cleaned up."""
        restored = self._make(self._journal.id + _RESTORED, self._intent.container, self._intent.original)
        self._connect(restored, self._intent.original_connects)
        return {"restored": restored}

    def _restore_policy(self) -> None:
        old = self._place_of_old()
        wanted = mapping(mapping(self._intent.old.get("HostConfig")).get("RestartPolicy"))
        if old is not None and wanted and _policy(old) != wanted:
            self._set_policy(str(old["Id"]), wanted)

    def _restart_old(self) -> None:
        old = self._place_of_old()
        if old is None or not self._intent.ran or runs(old):
            return
        new = self._find_new()
        if new is not None and runs(new):
            raise FailedError(texts.NEW_RUNS)
        self._engine.start(str(old["Id"]))

    # ------------------------------------------------------------ what is there

    def _place_of_old(self) -> dict[str, Any] | None:
        """The old container, or what was made in its place."""
        return self._old() or self._known("restored", self._journal.id + _RESTORED)

    def _find_new(self) -> dict[str, Any] | None:
        if self._intent.adopt:
            return self._engine.inspect(self._intent.adopt)
        return self._known("new", self._journal.id)

    def _known(self, name: str, label: str) -> dict[str, Any] | None:
        """A container that was made: by its id, or by its label if the answer that told its id was lost."""
        known = self._journal.known.get(name)
        data = self._engine.inspect(known) if known else None
        if data is None and (made := self._engine.made_by(label)):
            data = self._engine.inspect(made[0])
        return data

    def _until(self, done: Callable[[], bool]) -> None:
        """Wait for the engine to finish what it was asked for, or has begun by itself."""
        limit = time.monotonic() + _END_SECONDS
        while not done() and time.monotonic() < limit:
            time.sleep(_POLL)


def _policy(data: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(data.get("HostConfig")).get("RestartPolicy"))
