"""A relaunch in a process of its own: one that dies at a moment of the journal, has a full disk or no rights."""

import os
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.launches import container_document
from sgdoctor.launch.inspection import Inspection
from sgdoctor.relaunch.launching import quiet, relaunch
from sgdoctor.relaunch.model import Outcome, Progress, Watcher
from tests.docker.relaunching import CHANGE, FLAGS, HURRY, NAME, NEVER, READY, at, rollback

NOBODY = 65534


def dies(url: str, root: Path, moment: str, *, fails: bool = False, back: bool = False) -> None:
    """Relaunch, or go back to the launch before, and be killed once ``moment`` stands in the journal."""

    def watch(progress: Progress) -> None:
        if f"{progress.step} {progress.state}" == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    readiness = NEVER if fails else READY
    with Client(Endpoint(url)) as client:
        if back:
            rollback(client, NAME, readiness=readiness, patience=HURRY, watcher=watch, root=root)
        else:
            _relaunch(client, container_document(client, NAME), root, watch, fails=fails)


def has_no_rights(url: str, root: Path, document: Inspection, answer: Connection) -> None:
    """Relaunch as a user who may not use the engine; sends the outcome."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    with Client(Endpoint(url)) as client:
        answer.send(_relaunch(client, document, root, quiet))


def _relaunch(client: Client, document: Inspection, root: Path, watcher: Watcher, *, fails: bool = False) -> Outcome:
    readiness = NEVER if fails else READY
    return relaunch(client, document, [CHANGE], FLAGS, readiness=readiness, patience=HURRY, watcher=watcher, root=root)


def main(url: str, root: str, ballast: str) -> None:
    """Relaunch with a state folder on a small disk, that is full at once or once the journal was begun.

    With ``fails`` it is the latter, and the new server never serves.
    """

    def fill() -> None:
        with Path(root, "ballast").open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(512))
            except OSError:
                pass

    if ballast == "before":
        fill()
    with Client(Endpoint(url)) as client:
        document, fails = container_document(client, NAME), ballast == "fails"
        outcome = _relaunch(client, document, Path(root), at("create begun", fill), fails=fails)
    sys.stdout.write(f"{outcome.ending} {outcome.reason.en if outcome.reason else ''}\n")
    sys.stdout.writelines(f"{note.en}\n" for note in outcome.notes)


if __name__ == "__main__":
    main(*sys.argv[1:])
