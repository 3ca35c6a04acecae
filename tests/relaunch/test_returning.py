"""What is left of a container that somebody removed, and how long a lost answer is waited for."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from sgdoctor.containers.client import Client
from sgdoctor.relaunch.engine import Engine
from sgdoctor.relaunch.journal import Journal
from sgdoctor.relaunch.launches import To
from sgdoctor.relaunch.launching import quiet
from sgdoctor.relaunch.model import Ending, Intent, Outcome, Patience, Progress, Step, StepState, Way
from sgdoctor.relaunch.returning import removed
from sgdoctor.relaunch.transaction import Transaction
from sgdoctor.relaunch.unawaited import Unawaited
from tests.relaunch.test_launches import ENGINE, relaunched

KEPT = {"Name": "/sgl.sgd-old", "State": {"Status": "exited"}, "HostConfig": {"RestartPolicy": {"Name": "no"}}}


class There:
    """A client of an engine that has some containers.

    Args:
        containers: inspections by id.
    """

    def __init__(self, containers: Mapping[str, Mapping[str, Any]]) -> None:
        self._containers = containers

    def container_data(self, name: str) -> Mapping[str, Any] | None:
        return self._containers.get(name)


def left(
    root: Path, containers: Mapping[str, Mapping[str, Any]], monkeypatch: pytest.MonkeyPatch, to: To = "last-good"
) -> tuple[int, str] | str | None:
    """Number of the launch that is still there, and the commands; else what is said."""
    monkeypatch.setattr(Engine, "identity", lambda _: ENGINE)
    said = removed(cast("Client", There(containers)), "sgl", to, root)
    if said is None:
        return None
    found = re.fullmatch(r"sgl was removed\. .* launch (\d+) is still there; back to it: (.*)", said.en)
    return (int(found[1]), found[2]) if found else said.en


def test_kept_container_of_one_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    relaunched(tmp_path, "sgl", "a", "b")
    relaunched(tmp_path, "sgl", "b", "c")
    relaunched(tmp_path, "sgl", "c", "d", Ending.BACK)
    back = "docker rename sgl.sgd-old sgl && docker start sgl"

    # The newest that served; `d` failed, `c` is the one that was removed.
    assert (1, back) == left(tmp_path, {"a": KEPT, "b": KEPT, "d": KEPT}, monkeypatch)
    assert (0, back) == left(tmp_path, {"a": KEPT, "b": KEPT}, monkeypatch, "original")
    assert (1, back) == left(tmp_path, {"a": KEPT, "b": KEPT}, monkeypatch, 1)
    gone = "sgl was removed, and no container of that launch is left; what it was started with: sgdoctor history sgl"
    assert gone == left(tmp_path, {"d": KEPT}, monkeypatch)
    assert gone == left(tmp_path, {"a": KEPT}, monkeypatch, 1)
    assert gone == left(tmp_path, {}, monkeypatch)


def test_nothing_is_said_of_what_was_never_relaunched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert left(tmp_path, {}, monkeypatch) is None
    relaunched(tmp_path, "sgl", "a", "b", way=Way.PROCESS)
    assert left(tmp_path, {}, monkeypatch) is None


def test_kept_container_gets_its_policy_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = {"Name": "on-failure", "MaximumRetryCount": 3}
    old = {"Id": "a", "HostConfig": {"RestartPolicy": policy}}
    journal = Journal.begin(Intent("sgl", engine=ENGINE, old=old, way=Way.CONTAINER), tmp_path)
    journal.finish(Outcome(Ending.DONE, container="b"))
    runs = {**KEPT, "State": {"Status": "running"}}

    commands = "docker rename sgl.sgd-old sgl && docker update --restart on-failure:3 sgl"
    assert (0, f"{commands} && docker start sgl") == left(tmp_path, {"a": KEPT}, monkeypatch)
    assert (0, commands) == left(tmp_path, {"a": runs}, monkeypatch)


def test_clock_that_was_set_back_does_not_prolong_the_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = Journal.begin(Intent("sgl", engine=ENGINE, old={"Id": "a"}), tmp_path)
    journal.note(Progress(Step.CREATE, StepState.BEGUN, datetime.now(UTC) + timedelta(hours=1)))
    waited = 0.0

    def sleep(seconds: float) -> None:
        nonlocal waited
        waited += seconds
        assert waited < 60, "it waits for an hour"

    monkeypatch.setattr("sgdoctor.relaunch.transaction.time.sleep", sleep)
    monkeypatch.setattr("sgdoctor.relaunch.transaction.time.monotonic", lambda: waited)
    monkeypatch.setattr(Engine, "made_by", lambda *_: [])
    one = Transaction(
        Engine(cast("Client", There({}))),
        journal,
        readiness=Unawaited(),
        patience=Patience(),
        watcher=quiet,
        root=tmp_path,
    )

    assert one._still_coming() is None
    assert waited == pytest.approx(2, abs=0.1)
