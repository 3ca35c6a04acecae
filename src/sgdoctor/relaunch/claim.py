"""One relaunch at a time for each container, for all users and machines of its engine.

A lock of files holds for one user: another one has other files. What all have in common is the engine, and a volume of
one name is made once there: whoever asks for it later is shown the first one's labels, which say who is at work. It is
an empty volume, because that needs no image, is not listed among the containers, and outlives ``docker container
prune``. It goes when the relaunch has an end; one that was cut off keeps it, as its containers are still half way.
"""

import json
import os
import pwd
import secrets
import shlex
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from sgdoctor.containers.client import Client, RefusedError
from sgdoctor.errors import UserError
from sgdoctor.launch.inspection.reading import mapping
from sgdoctor.relaunch import texts
from sgdoctor.relaunch.engine import Engine, name_of, runs
from sgdoctor.relaunch.journal import Journal, read_journal
from sgdoctor.relaunch.lock import myself
from sgdoctor.relaunch.model import Way
from sgdoctor.texts import Text

LOCK: Final = ".sgd-lock"
"""Behind the name of a container: name of the volume."""

_JOURNAL: Final = "sgdoctor.lock"
_HOLDER: Final = "sgdoctor.holder"
_TRIES: Final = 3
_START_TIME: Final = 19  # behind the name of the program in /proc/PID/stat (proc(5), field 22)


@dataclass(frozen=True, slots=True)
class Claim:
    """Who is at work on a container, or was when it was cut off.

    Attributes:
        journal: id.
        path: of the journal, on the machine of that process.
        user: name; with the one behind it where sudo says who that is.
        host: name of the machine.
        space: of process ids: boot of the machine and namespace, in which ``process`` means something.
        process: id.
        started: when it was, in ticks of the boot, as ids are given again.
        since: time in ISO 8601.
        old: id of the container that is replaced.
        beside: name of the new one before it takes the place.
        adopted: id of a kept container that takes the place; empty if a new one is made.
        ran: whether the old one ran.
        policy: restart policy of the old one, as ``docker update`` takes it.
        file: compose: the one that is edited.
        backup: compose: its copy.
    """

    journal: str
    path: str = ""
    user: str = ""
    host: str = ""
    space: str = ""
    process: int = 0
    started: str = ""
    since: str = ""
    old: str = ""
    beside: str = ""
    adopted: str = ""
    ran: bool = True
    policy: str = ""
    file: str = ""
    backup: str = ""

    @property
    def lives(self) -> bool | None:
        """Whether its process is at work; None if that cannot be known here."""
        if self.space != _space():
            return None
        try:
            os.kill(self.process, 0)
        except ProcessLookupError:
            return False
        except OSError:
            pass  # somebody else's
        return _started(self.process) in ("", self.started)

    @property
    def command(self) -> str:
        """What goes back from its journal, for its user."""
        state = Path(self.path).parent.parent
        place = f"XDG_STATE_HOME={shlex.quote(str(state.parent))} " if state.name == "sgdoctor" else ""
        return f"{place}sgdoctor rollback"


def claim(engine: Engine, journal: Journal) -> Text | None:
    """Keep all others from relaunching the container of a journal, until ``release``.

    Args:
        engine: of the container.
        journal: open; it may hold the claim already.

    Returns:
        What the user should know: that nobody is kept from it, as the engine does not allow to.

    Raises:
        UserError: somebody else holds it, or the engine does not answer.
    """
    name = journal.intent.container
    mine = _mine(journal)
    labels = {_JOURNAL: journal.id, _HOLDER: json.dumps(asdict(mine))}
    lock = name + LOCK
    tries_left = _TRIES
    while True:
        try:
            found = engine.make_volume(lock, labels)
        except RefusedError as error:
            return texts.unlocked(name, error.reason)
        if found.get(_JOURNAL) == journal.id:
            if found.get(_HOLDER) != labels[_HOLDER]:
                # Labels stay as they were made; who goes on with it has some of their own.
                engine.make_volume(f"{lock}.{secrets.token_hex(3)}", labels)
            return None
        there = _read(engine, found)
        if there is None:
            return texts.unlocked(name, lock)
        tries_left -= 1
        if not tries_left or not _is_over(there):
            raise _held(engine, name, there)
        release(engine, there.journal)


def release(engine: Engine, journal: str) -> None:
    """Let others relaunch the container again; nothing if this one holds no claim.

    Args:
        engine: of the container.
        journal: id of the one that has ended.

    Raises:
        UserError: the engine does not answer.
    """
    for volume in engine.volumes(f"{_JOURNAL}={journal}"):
        with suppress(RefusedError):
            engine.remove_volume(str(volume["Name"]))


def claim_of(client: Client, container: str) -> Claim | None:
    """Who holds a container; None for nobody, or somebody whose relaunch has ended.

    Args:
        client: of the engine.
        container: name.

    Raises:
        UserError: the engine does not answer.
    """
    try:
        data = client.volume_data(container + LOCK)
    except RefusedError:
        return None
    there = _read(Engine(client), mapping((data or {}).get("Labels")))
    return None if there is None or _is_over(there) else there


def check_free(engine: Engine, container: str) -> None:
    """Whether nobody else is at work on a container, or was when it was cut off.

    Args:
        engine: of the container.
        container: name.

    Raises:
        UserError: somebody is, with what can be done about it; or the engine does not answer.
    """
    if (there := claim_of(engine.client, container)) is not None:
        raise _held(engine, container, there)


def _held(engine: Engine, container: str, there: Claim) -> UserError:
    """What somebody is told who may not relaunch a container now, and what they can do about it.

    Args:
        engine: of the container.
        container: name.
        there: who holds it.
    """
    lives, path = there.lives, Path(there.path)
    if lives:
        said = texts.held(container, there.process, there.user, there.since)
        return UserError(said.en, said.zh)
    host = there.host if lives is None else ""
    by_hand = _by_hand(engine, container, there)
    if not host and read_journal(path) is None and not _is_hidden(path):
        way = texts.way_without_journal(there.path, by_hand)
    else:
        way = texts.way_of_owner(there.user, host, there.path, f"{there.command} {container}", by_hand)
    said = texts.held_open(container, f"{there.user} ({there.process})", host, there.since, way)
    return UserError(said.en, said.zh)


def _by_hand(engine: Engine, container: str, there: Claim) -> Text:
    """What puts everything back without the journal, from how it stands now."""
    free = f"docker volume rm {container}{LOCK}"
    if there.file:
        return texts.by_hand_compose(there.file, there.backup, free)
    old = engine.inspect(there.old) if there.old else None
    if old is None:
        return Text(free, free)
    new = [
        data
        for one in ([there.adopted] if there.adopted else engine.made_by(there.journal))
        if (data := engine.inspect(one)) is not None
    ]
    commands = []
    for data in new:
        now = name_of(data)
        if not there.adopted:
            commands.append(f"docker rm -f -v {now}")
            continue
        if runs(data):
            commands.append(f"docker stop {now}")
        if now != there.beside:
            commands.append(f"docker rename {now} {there.beside}")
    now = name_of(old)
    if now != container:
        commands.append(f"docker rename {now} {container}")
    if there.policy and there.policy != policy_word(mapping(old.get("HostConfig"))):
        commands.append(f"docker update --restart {there.policy} {container}")
    if there.ran and not runs(old):
        commands.append(f"docker start {container}")
    line = " && ".join([*commands, free])
    return Text(line, line)


def _mine(journal: Journal) -> Claim:
    me, intent = myself(), journal.intent
    is_compose = intent.way is Way.COMPOSE
    return Claim(
        journal=journal.id,
        path=str(journal.path),
        user=_user(),
        host=socket.gethostname(),
        space=_space(),
        process=me.pid,
        started=_started(me.pid),
        since=me.since,
        old=intent.old_id,
        beside=intent.beside,
        adopted=intent.adopt,
        ran=intent.ran,
        policy=policy_word(mapping(intent.old.get("HostConfig"))),
        file=str(intent.facts["file"]) if is_compose else "",
        backup=str(intent.facts["backup"]) if is_compose else "",
    )


def _read(engine: Engine, labels: Mapping[str, Any]) -> Claim | None:
    """The newest claim of the relaunch that a lock names; None if the lock is not one of sgdoctor."""
    journal = str(labels.get(_JOURNAL) or "")
    if not journal:
        return None
    found = [_of(journal, labels)]
    with suppress(RefusedError):
        found += [_of(journal, mapping(volume.get("Labels"))) for volume in engine.volumes(f"{_JOURNAL}={journal}")]
    # Of two in one second, the one that is at work.
    return max(found, key=lambda one: (one.since, one.lives is not False))


def _of(journal: str, labels: Mapping[str, Any]) -> Claim:
    """What a label says, as far as this version of sgdoctor knows it; anybody may have written it."""
    with suppress(ValueError, TypeError, AttributeError):
        told = json.loads(str(labels.get(_HOLDER)))
        kinds = {field.name: field.type for field in fields(Claim)}
        known = {name: value for name, value in told.items() if type(value) is kinds.get(name)}
        return Claim(**{**known, "journal": journal})
    return Claim(journal)


def _is_over(there: Claim) -> bool:
    """Whether its journal has an end: its process was killed between that and giving the claim away."""
    journal = read_journal(Path(there.path))
    return journal is not None and journal.outcome is not None


def _is_hidden(path: Path) -> bool:
    """Whether somebody may not even see if the file is there."""
    try:
        path.lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return not os.access(path, os.R_OK)


def policy_word(host: Mapping[str, Any]) -> str:
    """The restart policy of a ``HostConfig`` as ``docker update --restart`` takes it; empty if it has none."""
    policy = mapping(host.get("RestartPolicy"))
    name, most = str(policy.get("Name") or ""), policy.get("MaximumRetryCount")
    return f"{name}:{most}" if name == "on-failure" and most else name


def _user() -> str:
    number = os.getuid()
    try:
        name = pwd.getpwuid(number).pw_name
    except KeyError:
        name = str(number)
    by = os.environ.get("SUDO_USER", "") if number == 0 else ""
    return f"{name} (sudo: {by})" if by and by != name else name


def _space() -> str:
    """Where the ids of processes are those of this one; where that is not known, only this process has this space."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115 - no path
    return f"{socket.gethostname()} {os.getpid()}"


def _started(process: int) -> str:
    with suppress(OSError, IndexError):
        told = Path(f"/proc/{process}/stat").read_text("utf-8", "replace")
        return told.rpartition(")")[2].split()[_START_TIME]
    return ""
