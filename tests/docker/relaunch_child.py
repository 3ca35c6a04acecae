"""A relaunch, or its recovery, in a process of its own that dies at a moment of the journal."""

import os
import signal
from pathlib import Path

from sgdoctor.containers.client import Client
from sgdoctor.containers.endpoint import Endpoint
from sgdoctor.containers.launches import container_document
from sgdoctor.relaunch.launching import relaunch
from sgdoctor.relaunch.model import Progress
from tests.docker.relaunching import CHANGE, FLAGS, HURRY, NAME, NEVER, READY


def dies(url: str, root: Path, moment: str, *, fails: bool) -> None:
    """Relaunch, and be killed as soon as ``moment`` (step and state) stands in the journal."""

    def watch(progress: Progress) -> None:
        if f"{progress.step} {progress.state}" == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    with Client(Endpoint(url)) as client:
        document = container_document(client, NAME)
        readiness = NEVER if fails else READY
        relaunch(client, document, [CHANGE], FLAGS, readiness=readiness, patience=HURRY, watcher=watch, root=root)
