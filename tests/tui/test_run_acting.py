"""The app of ``run`` under its keys: a real process, the stand-in of the engine, is ended and started anew."""

import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sgdoctor.cli.run_app import Shown, see_out
from sgdoctor.cli.run_doctor import ProcessDoctor
from sgdoctor.cli.run_keeper import Wishes
from sgdoctor.cli.run_owner import Owner
from sgdoctor.cli.run_plan import ProcessPlans
from sgdoctor.cli.run_server import Server
from sgdoctor.launch.change import Change
from sgdoctor.processes.record import files_folder
from sgdoctor.relaunch.heal.model import Limits
from sgdoctor.relaunch.launches import history
from sgdoctor.relaunch.model import Attempt
from sgdoctor.tui.app import SgdoctorApp
from sgdoctor.tui.doctor import Choice
from sgdoctor.tui.ports import Options
from sgdoctor.tui.screens.confirm import ConfirmScreen
from sgdoctor.tui.screens.course import CourseScreen
from sgdoctor.tui.screens.plan import PlanScreen
from sgdoctor.tui.screens.report import ReportScreen
from sgdoctor.verify.launched import server_of
from tests.cli.test_run import ENGINE, FITS, SERVER, SHORT_LIST, free_port
from tests.processes.conftest import alive
from tests.standin.parity import put_model
from tests.tui.moments import base
from tests.tui.test_app import Desk

NAME = "sgl"
LOW = [*SERVER, "--mem-fraction-static", "0.80"]
BAD = [*SERVER, "--mem-fraction-static", "0.80", "--attention-backend", "no-such-backend"]


class Ward(Desk):
    """An app at work with a process."""

    owner: Owner

    @property
    def doctor(self) -> ProcessDoctor:
        doctor = self.app.options.doctor
        assert isinstance(doctor, ProcessDoctor)
        return doctor

    async def shows(self, *texts: str) -> str:
        await self.until(lambda: all(text in self.words for text in texts), *texts)
        return self.words

    async def until(self, done, *what: str) -> None:  # type: ignore[no-untyped-def]
        for _ in range(8):
            try:
                await self.settled(done)
            except AssertionError:
                continue
            return
        raise AssertionError(f"not shown: {what}\n{self.screen}")

    @property
    def words(self) -> str:
        """What stands on the screen, as if no line ended."""
        return " ".join(self.screen.replace("│", " ").split())

    async def agree(self, key: str, *asked: str) -> str:
        """Press a key, and say yes to what is asked; the question."""
        await self.press(key)
        await self.until(lambda: isinstance(self.app.screen, ConfirmScreen), "a question")
        await self.shows(*asked)
        said = self.words
        await self.press("y")
        await self.until(lambda: isinstance(self.app.screen, CourseScreen), "the steps")
        return said

    async def over(self) -> str:
        """Wait until the errand is over and said to be; what is said of it."""
        await self.until(lambda: self.app.view.course is not None and self.app.view.course.ended is not None, "the end")
        course = self.app.view.course
        assert course is not None
        assert course.ended is not None
        # How it ended is drawn a moment after it is known; its first words stand in one line.
        return await self.shows(course.ended.text.en[:12])

    @property
    def starts(self) -> list[tuple[str, ...]]:
        return [running.words[len(SERVER) - 2 :] for running in self.owner.server.starts]

    @property
    def engine(self) -> int:
        return self.owner.server.current.feed.child.pid


@pytest.fixture(autouse=True)
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "PYTHONPATH": str(ENGINE),
        "STANDIN_SCENARIO": "decide",
        "STANDIN_MODEL": "qwen3.6-27b",
    }.items():
        monkeypatch.setenv(name, value)


@asynccontextmanager
async def ward(
    command: Sequence[str], *, unsafe: bool = False, size: tuple[int, int] = (130, 50)
) -> AsyncIterator[Ward]:
    plans = ProcessPlans([*command, "--port", free_port()], base())
    plans.name = NAME
    server = Server(plans, base(), "en")
    server.begin((), Wishes(), lambda _: None)

    def wishes(changes: Sequence[Change], *, heals: bool) -> Wishes:
        launch, flags = plans.launch(changes), plans.flags
        return Wishes(alone=heals, verifies=(lambda address: server_of(launch, flags, address)) if heals else None)

    owner = Owner(server, base(), Limits(3, unsafe=unsafe), wishes, redact=True)
    shown = Shown(owner.session)
    app = SgdoctorApp(shown, None, Options(base=base(), doctor=ProcessDoctor(owner)))
    try:
        with owner.attended():
            async with app.run_test(size=size) as pilot:
                one = Ward(app, shown, pilot)  # type: ignore[arg-type]
                one.owner = owner
                yield one
            app.finish()
            see_out(owner, shown)
    finally:
        server.close()
    assert not any(alive(running.feed.child.pid) for running in server.starts)


def attempts() -> list[Attempt]:
    return list(history(NAME))


def endings() -> list[tuple[int, str, str]]:
    return [(one.number, one.ending or "", one.purpose) for one in attempts()]


# ---------------------------------------------------------------- the plan and the new start


async def test_crash_plan_edit_relaunch_and_back() -> None:
    async with ward(LOW) as one:
        await one.shows("✖ FAILED", "SGL401")
        crashed = one.engine
        await one.press("f")
        await one.until(lambda: isinstance(one.app.screen, PlanScreen), "the plan")
        plan = await one.shows(f"Relaunch {NAME} ({crashed}) with 1 change", "It has ended.")
        await one.press("down", "down", *"0.91")
        await one.until(lambda: one.app.screen.settled and "0.91" in one.words, "0.91")  # type: ignore[attr-defined]
        await one.press("up", "up")
        asked = await one.agree("enter", f"Relaunch {NAME} (process {crashed})?", "kept, for the way back")
        ended = await one.over()
        serves = one.owner.server.current.serves
        await one.shows("READY")
        serving = one.engine
        await one.press("escape")
        back = await one.agree("u", "as at start 1?", "It is started, and not waited for")
        returned = await one.over()
        await one.shows("✖ FAILED")

    assert "--mem-fraction-static 0.91" in asked
    assert "expected to serve" in plan
    for text in ("✔ start the new server", "✔ wait until it serves", f"✔ {NAME} serves with the new launch, after"):
        assert text in ended
    assert serves
    assert "- --mem-fraction-static" not in asked.partition("Relaunch")[0]
    assert "It runs, and is going to be stopped." in back
    assert "✔ stop the old server" in returned
    assert f"{NAME} is started as at start 1, which failed before." in returned
    assert not alive(serving)
    assert [(1, "failed", "relaunch"), (2, "done", "relaunch"), (3, "failed", "rollback")] == endings()
    assert ["0.80", "0.91", "0.80"] == [one.command[-3] for one in attempts()]


async def test_a_server_that_served_is_back_where_the_new_launch_fails() -> None:
    async with ward(FITS) as one:
        await one.shows("READY")
        first = one.engine
        draft = one.doctor.draft(Choice(changes=(Change("flag.set", "--mem-fraction-static", "0.80"),)))
        errand = one.doctor.relaunch(draft)
        one.app.consent(errand)
        await one.until(lambda: isinstance(one.app.screen, ConfirmScreen), "a question")
        asked = one.words
        await one.press("y")
        ended = await one.over()
        again = one.engine
        lives = (alive(first), alive(again))
        held = one.owner.held.changes

    assert "If the new start does not serve, the launch of now is started again." in asked
    assert "✔ start the old server again" in ended
    assert f"{NAME} serves with the launch of before again." in ended
    assert (False, True) == lives
    assert () == held
    assert [(1, "done", "relaunch"), (2, "failed", "relaunch"), (3, "done", "rollback")] == endings()


async def test_a_new_launch_that_fails_is_what_the_next_plan_is_about() -> None:
    async with ward(LOW) as one:
        await one.shows("✖ FAILED", "SGL401")
        draft = one.doctor.draft(Choice(changes=(Change("flag.set", "--mem-fraction-static", "0.86"),)))
        one.app.consent(one.doctor.relaunch(draft))
        await one.until(lambda: isinstance(one.app.screen, ConfirmScreen), "a question")
        await one.press("y")
        ended = await one.over()
        next_ = one.doctor.draft()

    assert f"{NAME} does not run." in ended
    assert "restart" not in ended
    (before,) = (line for line in next_.answer.plan.diff.splitlines() if line.startswith("-/"))
    assert "--mem-fraction-static 0.86" in before
    assert [(1, "failed", "relaunch"), (2, "failed", "relaunch")] == endings()


async def test_stopping_while_it_waits_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ward(LOW) as one:
        await one.shows("✖ FAILED", "SGL401")
        monkeypatch.setenv("STANDIN_PACE", "1")
        await one.agree("r")
        await one.shows("▶ wait until it serves")
        slow = one.engine
        await one.press("c")
        await one.shows(f"Stop and go back to what {NAME} was?", "it did not serve")
        await one.press("y")
        ended = await one.over()
        lives, held = alive(slow), one.owner.held.number

    assert "Stopped by you" in ended or "stopped by you" in ended
    assert (False, 1) == (lives, held)
    assert [(1, "failed", "relaunch"), (2, "stopped", "relaunch")] == endings()


async def test_leaving_in_the_middle_ends_everything_and_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ward(FITS) as one:
        await one.shows("READY")
        monkeypatch.setenv("STANDIN_PACE", "1")
        one.app.consent(one.doctor.relaunch(one.doctor.draft(Choice(changes=(Change("env.set", "X", "1"),)))))
        await one.until(lambda: isinstance(one.app.screen, ConfirmScreen), "a question")
        await one.press("y")
        await one.shows("▶ wait until it serves")
        await one.press("q")
        await one.shows(f"Stop {NAME} and quit?", "is stopped with all of its processes")
        await one.press("y")
        owner = one.owner

    assert 2 == len(owner.server.starts)
    assert [(1, "done", "relaunch"), (2, "stopped", "relaunch")] == endings()


# ---------------------------------------------------------------- heal, checks, and what cannot be


async def test_heals_until_its_answers_are_right() -> None:
    async with ward(SERVER) as one:
        await one.shows("✖ FAILED", "SGL401")
        asked = await one.agree("h", f"Heal {NAME} (process {one.engine})?")
        ended = await one.over()
        await one.press("enter")
        await one.until(lambda: isinstance(one.app.screen, ReportScreen), "the report")
        report = one.words

    assert "Up to 3 relaunches" in asked
    assert "Relaunch 1 of at most 3: --mem-fraction-static 0.92" in ended
    assert f"{NAME} serves after one more start, and its answers were checked." in ended
    assert "As it was found: failed" in report
    assert "Relaunch 1: ready and verified" in report


async def test_a_server_that_serves_is_asked_and_left_alone() -> None:
    async with ward(FITS) as one:
        await one.shows("READY")
        before = one.engine
        await one.agree("h", "It serves")
        ended = await one.over()
        after = one.engine

    assert before == after
    assert f"{NAME} serves, and its answers were checked." in ended


async def test_what_cannot_fit_is_not_healed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_MODEL", "qwen3-32b")
    async with ward(SERVER) as one:
        await one.shows("✖ FAILED")
        await one.agree("h")
        ended = await one.over()

    assert "this model does not fit this card" in ended
    assert 1 == len(one.owner.server.starts)


async def test_preflight_and_what_there_is_nothing_of() -> None:
    async with ward(SERVER) as one:
        await one.shows("✖ FAILED", "SGL401")
        await one.press("u")
        await one.until(
            lambda: any("no other launch to go back to" in toast for toast in one.toasts), "nothing to go back to"
        )
        await one.press("p")
        await one.until(lambda: isinstance(one.app.screen, ReportScreen), "the report")
        report = one.words

    assert f"Preflight: {NAME}" in report
    assert [(1, "failed", "relaunch")] == endings()


async def test_a_command_that_does_not_show_the_launch_is_not_acted_on() -> None:
    async with ward([sys.executable, "-c", "print('CUDA out of memory'); raise SystemExit(3)"]) as one:
        await one.shows("FAILED")
        for key in ("r", "h"):
            one.app.clear_notifications()
            await one.press(key)
            await one.until(lambda: bool(one.toasts), "why not")
        said = one.toasts

    assert any("does not show how the engine is started" in toast for toast in said)


# ---------------------------------------------------------------- data instead of mounts


@pytest.fixture
def short_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A launch of a model whose list of layers is too short."""
    folder = tmp_path / "models" / "qwen"
    folder.mkdir(parents=True)
    put_model(folder, "35b-a3b", layer_types=["linear_attention"] * 3 + ["full_attention"])
    monkeypatch.setenv("STANDIN_MODEL", "qwen3.6-35b-a3b")
    return [*SERVER[:3], "--model-path", str(folder), *SHORT_LIST]


async def test_a_corrected_config_is_named_checked_used_and_left_behind_on_the_way_back(short_list: list[str]) -> None:
    async with ward(short_list) as one:
        await one.shows("✖ FAILED", "SGL204")
        draft = one.doctor.draft()
        one.doctor.preflight(draft)
        checked = files_folder(NAME).exists()
        asked = await one.agree("r", "Written for it, beside everything that is yours")
        ended = await one.over()
        made = sorted(path.name for path in files_folder(NAME).rglob("*") if not path.is_dir())
        given = next(change.value for change in one.owner.held.changes if change.name == "--model-path") or ""
        await one.press("escape")
        back = await one.agree("u", "as at start 1?")
        await one.over()

    assert not checked
    assert str(files_folder(NAME)) in asked.replace(" ", "")
    assert "serves with the new launch" in ended
    assert ["config.about.json", "config.json"] == made
    assert 40 == len(json.loads((Path(given) / "config.json").read_bytes())["text_config"]["layer_types"])
    assert short_list[4] in back.replace(" ", "")
    assert short_list[4] == attempts()[-1].command[4]


async def test_a_start_up_file_runs_in_the_engine_through_its_environment(
    short_list: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As pip leaves it: by that a patch knows whether it is meant.
    installed = tmp_path / "packages" / "transformers-5.8.1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: transformers\nVersion: 5.8.1\n")
    places = f"{ENGINE}:{installed.parent}"
    monkeypatch.setenv("PYTHONPATH", places)
    async with ward(short_list) as one:
        await one.shows("✖ FAILED", "SGL204")
        draft = one.doctor.draft(Choice(steps=("layer-types-sitecustomize",)))
        one.app.consent(one.doctor.relaunch(draft))
        await one.until(lambda: isinstance(one.app.screen, ConfirmScreen), "a question")
        await one.press("y")
        ended = await one.over()
        log = one.owner.server.current.feed.log
        said = log.read_text() if log is not None else ""

    assert "serves with the new launch" in ended, said
    assert "sgdoctor patch: layer_types of qwen3_5_moe_text applied" in said
    (change,) = attempts()[-1].changes
    assert ("env.set", "PYTHONPATH", f"{files_folder(NAME)}/startup:{places}") == change
    assert attempts()[0].command == attempts()[-1].command
