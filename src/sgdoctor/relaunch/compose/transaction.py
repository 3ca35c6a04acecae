"""A relaunch by Compose as a journalled transaction: the file is replaced and the container made anew, or all is back.

Compose has no way back of its own: it removes the old container before it starts the new one. What is kept is the file,
and the log of the old container. As in ``relaunch.transaction`` each step looks at what is there, so that it can be
taken again.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.errors import UserError
from sgdoctor.launch.inspection.reading import ComposeOrigin, compose_origin, mapping
from sgdoctor.relaunch import texts as common
from sgdoctor.relaunch.compose import texts
from sgdoctor.relaunch.compose.edition import Edition, hash_of_edit
from sgdoctor.relaunch.compose.merging import merged
from sgdoctor.relaunch.compose.program import ComposeError, ComposeProject, ProjectWords, find_compose, is_first
from sgdoctor.relaunch.compose.service import config_hash, refused, service_containers
from sgdoctor.relaunch.engine import Engine, name_of, runs
from sgdoctor.relaunch.journal import Journal
from sgdoctor.relaunch.model import Ending, Outcome, Patience, Readiness, Step, Watcher
from sgdoctor.relaunch.saving import Saved, save_log
from sgdoctor.relaunch.steps import FailedError, Steps
from sgdoctor.texts import Text
from sgdoctor.writing import Found, check_replaceable, read_text, write_like


class ComposeTransaction(Steps):
    """One relaunch by Compose, from its journal; arguments as of ``Steps``.

    Args:
        asked: what Compose has said of the edit already; None to ask it.

    The facts of its intent: ``name``, ``folder``, ``files``, ``env_files`` and ``variables`` of the project,
    ``services``: names of all of them, ``hash``: of the service as it was, ``hashes``: of all, ``version``: of the
    Compose that made the container, ``service``, ``file``: the one that is edited, ``before`` and ``after``: its
    texts, ``backup``: path of its copy, ``pull``: whether the image may have to be pulled.

    Raises:
        UserError: that Compose is not installed.
    """

    def __init__(
        self,
        engine: Engine,
        journal: Journal,
        *,
        readiness: Readiness,
        patience: Patience,
        watcher: Watcher,
        root: Path | None = None,
        asked: Edition | None = None,
    ) -> None:
        super().__init__(engine, journal, readiness=readiness, patience=patience, watcher=watcher, root=root)
        facts = journal.intent.facts
        origin = compose_origin(journal.intent.old)
        if origin is None:
            raise ValueError(journal.id)
        self._origin: ComposeOrigin = origin
        self._file = Path(facts["file"])
        self._backup = Path(facts["backup"])
        self._staged = self._file.with_name(f".{self._file.name}.sgd-{journal.id[-6:]}")
        self._before, self._after = str(facts["before"]), str(facts["after"])
        self._words = ProjectWords(
            facts["name"], facts["folder"], tuple(facts["files"]), tuple(facts["env_files"]), facts["variables"]
        )
        self._asked = asked
        self._touched = journal.begun(Step.START)
        self._turn = journal.path.with_suffix(".compose")
        compose = find_compose(origin.version)
        if compose is None:
            first = is_first(origin.version)
            raise refused(texts.not_installed(origin.version, str(self._file), origin.service, first=first))
        endpoint = engine.client.connections.endpoint
        self._project = ComposeProject(compose, self._words, endpoint, self._turn)

    # ------------------------------------------------------------ on

    def _go(self) -> None:
        self._project.wait_until_alone()
        self._do(Step.BACKUP, self._back_up)
        self._do(Step.COMPARE, self._compare_file)
        if self._old() is not None:
            self._do(Step.SAVE_LOG, self._save_old_log)
        self._do(Step.WRITE, self._write)
        self._do(Step.START, self._up)
        self._do(Step.READY, self._ready)
        self._notes.append(texts.kept_copy(str(self._backup)))

    def _back_up(self) -> None:
        if self._now() == self._before and not self._backup.exists():
            write_like(self._backup, self._before.encode(), self._status())

    def _compare_file(self) -> dict[str, str]:
        """What Compose makes of the edited file, which is put beside the old one for that if it was not asked yet."""
        if self._now() != self._before:
            return {}
        asked = self._asked
        if asked is not None and asked.hash and asked.service.is_current():
            return {"hash": asked.hash}
        write_like(self._staged, self._after.encode(), self._status())
        words = self._words.with_file(self._file, self._staged)
        # A file that is only extended cannot be given to Compose under another name.
        return {} if words == self._words else {"hash": self._checked(words)}

    def _checked(self, words: ProjectWords) -> str:
        intent = self._intent
        return hash_of_edit(self._project, words, self._origin.service, intent.facts["hashes"], intent.command)

    def _save_old_log(self) -> dict[str, str]:
        saved = self._keep(save_log(self._engine.client, self._intent.old_id, self._root))
        return {"old_log": str(saved.path)} if saved.path is not None else {}

    def _write(self) -> dict[str, str]:
        if self._now() == self._before:
            if not self._staged.exists():
                write_like(self._staged, self._after.encode(), self._status())
            self._status()
            try:
                self._staged.replace(self._file)
            except OSError as error:
                raise FailedError(texts.not_replaced(str(self._file), error.strerror or str(error))) from None
        elif self._now() != self._after:
            raise FailedError(texts.edited_meanwhile(str(self._file)))
        return {} if "hash" in self._journal.known else {"hash": self._checked(self._words)}

    def _up(self) -> dict[str, str]:
        self._touched = True
        self._tidy()
        failure: Text | None = None
        try:
            self._project.up(self._origin.service, pull=bool(self._intent.facts["pull"]))
        except ComposeError as error:
            failure = error.message
        # Raises if the engine is gone, and Compose with it.
        new = self._find_new()
        if new is None:
            raise FailedError(failure or texts.not_made(self._origin.service))
        if refusal := mapping(new.get("State")).get("Error"):
            failure = texts.not_started(str(refusal))
        if failure is not None:
            raise FailedError(failure)
        self._give_name(new)
        return {"new": str(new["Id"])}

    # ------------------------------------------------------------ back

    def back(self, reason: Text, verdict: Verdict | None = None) -> Outcome:
        """Everything as it was before; see ``Steps.back``."""
        saved = Saved(None, None)

        def save() -> dict[str, str]:
            nonlocal saved
            new = self._find_new()
            if new is not None:
                saved = self._keep(save_log(self._engine.client, str(new["Id"]), self._root))
            return {"log": str(saved.path)} if saved.path is not None else {}

        try:
            self._project.wait_until_alone()
            self._do(Step.SAVE_LOG, save, {"back": "1"})
            self._do(Step.REMOVE, self._clean)
            self._do(Step.RESTORE, self._restore_file)
            self._do(Step.RESTART_OLD, self._old_again)
        except (FailedError, UserError, OSError) as error:
            why = Text(str(error), str(error))
            if isinstance(error, FailedError):
                why = error.reason
            elif isinstance(error, UserError):
                why = error.message
            return self._open(common.still_open(reason, why), self._judged(verdict, saved))
        old = self._place_of_old()
        return self._finish(
            Outcome(
                Ending.BACK if self._touched else Ending.REFUSED,
                container=str(old["Id"]) if old else "",
                reason=reason,
                log=self._journal.known.get("log"),
                verdict=self._judged(verdict, saved),
                notes=tuple(self._notes),
            )
        )

    def _clean(self) -> None:
        """What is there besides the old container and the file."""
        for left in (self._staged, self._backup):
            for part in left.parent.glob(f".{left.name}.*"):
                part.unlink(missing_ok=True)
        self._staged.unlink(missing_ok=True)
        self._tidy()

    def _tidy(self) -> None:
        """Undo what a Compose that was cut off did: it makes the new container before it removes the old one."""
        old = self._old()
        if old is None:
            return
        new = self._find_new()
        if new is not None:
            self._engine.remove(str(new["Id"]))
        self._give_name(old)

    def _restore_file(self) -> None:
        now = self._now()
        if now != self._before:
            text = merged(self._after, self._before, now)
            if text is None:
                raise FailedError(texts.edited_there(str(self._file), str(self._backup)))
            if text != now:
                write_like(self._file, text.encode(), check_replaceable(Found(self._file, now.encode(), now)))
                self._touched = True
        self._backup.unlink(missing_ok=True)

    def _old_again(self) -> dict[str, str]:
        old, ran = self._old(), self._intent.ran
        if old is not None:
            if ran and not runs(old):
                self._engine.start(self._intent.old_id)
            return {}
        there = self._containers()
        if there and config_hash(there[-1]) not in (self._journal.known.get("hash"), self._hash_before()):
            raise FailedError(texts.BY_OTHERS)
        self._project.up(self._origin.service, start=ran)
        there = self._containers()
        if not there:
            raise FailedError(texts.not_made(self._origin.service))
        restored = there[-1]
        if config_hash(restored) != self._hash_before():
            raise FailedError(texts.NOT_BACK)
        error = str(mapping(restored.get("State")).get("Error") or "")
        if error and ran:
            raise FailedError(texts.not_started(error))
        self._give_name(restored)
        return {"restored": str(restored["Id"])}

    # ------------------------------------------------------------ what is there

    def _now(self) -> str:
        """What the file says at this moment."""
        return read_text(self._file).text

    def _status(self) -> os.stat_result:
        return check_replaceable(Found(self._file, self._before.encode(), self._before))

    def _hash_before(self) -> str:
        return str(self._intent.facts["hashes"].get(self._origin.service))

    def _containers(self) -> list[dict[str, Any]]:
        """Those of the service, except the old one; the newest last."""
        found = service_containers(self._engine.client, self._origin)
        return [data for data in found if data["Id"] != self._intent.old_id]

    def _find_new(self) -> dict[str, Any] | None:
        made = [data for data in self._containers() if config_hash(data) == self._journal.known.get("hash")]
        return made[-1] if made else None

    def _place_of_old(self) -> dict[str, Any] | None:
        restored = self._journal.known.get("restored")
        return self._old() or (self._engine.inspect(restored) if restored else None)

    def _give_name(self, data: Mapping[str, Any]) -> None:
        """Compose gives other names to containers on the way; one that was cut off leaves them."""
        if name_of(data) != self._intent.container:
            self._engine.rename(str(data["Id"]), self._intent.container)

    def _finish(self, outcome: Outcome) -> Outcome:
        self._turn.unlink(missing_ok=True)
        return super()._finish(outcome)
