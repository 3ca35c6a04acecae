"""What goes wrong around the app stays off the user's screen, but for one line."""

import asyncio

import pytest

from sgdoctor.diagnosis.model import Verdict
from sgdoctor.errors import UserError
from sgdoctor.gpu.model import GpuReading
from sgdoctor.texts import Text
from sgdoctor.tui.app import SgdoctorApp
from sgdoctor.tui.ports import Options
from sgdoctor.watching.model import Snapshot
from tests.report.samples import verdict as hostile_verdict
from tests.tui.moments import ToldSession, snapshot_of
from tests.tui.test_app import FAILED, STARTING, Desk, desk


async def test_a_session_that_fails_is_one_line_and_the_rest_stays() -> None:
    async with desk() as one:
        one.session.fail(OSError(28, "No space left on device [bold]x"))
        await one.settled(lambda: "cannot be read on" in one.screen)
        screen = one.screen

    assert "! The log cannot be read on: OSError: [Errno 28] No space left on device [bold]x" in screen
    assert "SGL402" in screen


async def test_a_log_that_cannot_be_read_is_told_in_the_language_of_the_app() -> None:
    async with desk(lang="zh") as one:
        one.session.fail(UserError("a.log: the file is empty.", "a.log：文件为空。"))
        await one.settled(lambda: "a.log" in one.screen)
        screen = one.screen

    assert "无法继续读取日志：a.log：文件为空。" in screen


class BrokenGpus:
    closed = False

    def read(self) -> GpuReading:
        raise RuntimeError("the driver is gone")

    def close(self) -> None:
        self.closed = True


async def test_a_driver_that_raises_is_one_line_in_its_pane() -> None:
    session, gpus = ToldSession(STARTING, snapshot_of(STARTING, live=True)), BrokenGpus()
    app = SgdoctorApp(session, gpus, Options())
    async with app.run_test(size=(120, 36)) as pilot:
        one = Desk(app, session, pilot)
        await one.settled(lambda: "(RuntimeError)" in one.screen)

    for _ in range(100):
        if gpus.closed:
            break
        await asyncio.sleep(0.01)
    assert gpus.closed


def hostile(moment: Snapshot, verdict: Verdict) -> Snapshot:
    name = "[red]evil[/] \x1b[31m\x1b]0;title\x07\u202e"
    return moment._replace(
        verdict=verdict,
        note=Text(name, name),
        subject=moment.subject._replace(name=name, model=name, image=name, ports=name),
        attempts=tuple(attempt._replace(title=Text(name, name)) for attempt in moment.attempts),
    )


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)])
async def test_markup_and_escapes_of_others_are_shown_as_text(size: tuple[int, int]) -> None:
    moment = hostile(snapshot_of(FAILED, attempts=3), hostile_verdict())
    screens = []
    async with desk(FAILED, moment, size=size) as one:
        await one.press("2")
        for keys in ((), ("enter",), ("escape", "e"), ("escape", "f"), ("escape", "a"), ("escape", "b")):
            await one.press(*keys)
            screens.append(one.screen)
        await one.press("c", "s", "ctrl+p", *"Start 2")
        await one.settled(lambda: "Start 2" in one.screen)
        screens.append(one.screen)

    everything = "\n".join(screens)
    assert "[red]evil[/]" in everything
    assert "[bold red]x[/]" in everything
    assert "\x1b" not in everything
    assert "\u202e" not in everything


async def test_a_burst_of_moments_ends_with_the_newest_one() -> None:
    async with desk(STARTING, snapshot_of(STARTING, live=True)) as one:
        moment = snapshot_of(STARTING, live=True)
        painted = 0
        draw = one.app.main.show

        def counted(view: object) -> None:
            nonlocal painted
            painted += 1
            draw(view)  # type: ignore[arg-type]

        one.app.main.show = counted  # type: ignore[method-assign]
        moments = [moment._replace(lines=number) for number in range(1, 5001)]
        for each in moments:
            one.session.give(each)
        await one.settled(lambda: one.app.view.snapshot is moments[-1])

    assert painted <= 10


async def test_an_error_of_the_app_itself_is_kept_and_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    session = ToldSession(FAILED, None)
    app = SgdoctorApp(session, None, Options())

    async def work() -> None:
        async with app.run_test(size=(120, 36)) as pilot:
            await pilot.pause()
            session.give("no snapshot")  # type: ignore[arg-type]
            await pilot.pause(0.2)

    with pytest.raises(AttributeError):
        await work()

    assert isinstance(app.broken, AttributeError)
    assert "Traceback" not in capsys.readouterr().err
