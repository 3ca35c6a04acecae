"""An engine as a child: how it is started, and that nothing of it is left, however it or sgdoctor ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sgdoctor.errors import UserError
from sgdoctor.processes.child import Child, Patience, program_of
from tests.processes.conftest import Script, alive, no_child_left, pid_in, until

DEAF = "for one in (signal.SIGINT, signal.SIGTERM): signal.signal(one, signal.SIG_IGN)\n"
READY = "print('ready')\n"
SLEEPS = "time.sleep(600)\n"
# Leaves its session and its group, and ignores what would end it.
STRAY = (
    "stray = subprocess.Popen([sys.executable, '-c', "
    "'import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); '"
    "'open(os.sys.argv[1], \"w\").write(str(os.getpid())); time.sleep(600)', here + '/stray'], start_new_session=True)\n"
)


@contextmanager
def running(words: list[str], patience: Patience | None = None) -> Iterator[Child]:
    child = Child(words, dict(os.environ), patience)
    try:
        yield child
    finally:
        child.close()
        os.close(child.output)


def printed(child: Child, text: bytes) -> bytes:
    said = bytearray()

    def there() -> bool:
        child.attend()
        try:
            said.extend(os.read(child.output, 65536))
        except BlockingIOError:
            return False
        return text in said

    until(there, f"{text!r} is not printed")
    return bytes(said)


def ended(child: Child) -> int | None:
    def over() -> bool:
        child.attend()
        return child.over

    until(over, "it does not end")
    return child.code


def test_both_streams_come_through_one_pipe_in_their_order(script: Script) -> None:
    with running(script("for n in range(3): print('out', n); print('err', n, file=sys.stderr)\n")) as child:
        code = ended(child)
        said = os.read(child.output, 65536)

    assert 0 == code
    assert b"out 0\nerr 0\nout 1\nerr 1\nout 2\nerr 2\n" == said
    assert no_child_left()


def test_it_leads_a_group_of_its_own_without_a_terminal(script: Script) -> None:
    source = "print(os.getpgid(0) == os.getpid(), os.getsid(0) != os.getppid(), sys.stdin.read() == '')\n"
    with running(script(source)) as child:
        ended(child)
        said = os.read(child.output, 65536)

    assert b"True False True\n" == said


def test_signals_have_their_usual_meaning(script: Script) -> None:
    source = (
        "usual = [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD]\n"
        "print([signal.getsignal(one) == signal.SIG_DFL for one in usual])\n"
        "print(signal.getsignal(signal.SIGINT) == signal.default_int_handler)\n"
    )
    with running(script(source)) as child:
        ended(child)
        said = os.read(child.output, 65536)

    assert b"[True, True, True, True]\nTrue\n" == said


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGSEGV, -11), (0, 7)])
def test_how_it_ended_is_known(script: Script, number: int, code: int) -> None:
    with running(script(f"os.kill(os.getpid(), {number})\nsys.exit(7)\n")) as child:
        assert code == ended(child)
        assert not child.killed


def test_it_is_asked_to_stop_as_a_terminal_would(script: Script) -> None:
    source = "try:\n    print('ready'); time.sleep(600)\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
    with running(script(source)) as child:
        printed(child, b"ready")
        child.stop()
        code = ended(child)
        said = os.read(child.output, 65536)

    assert (0, b"interrupted\n") == (code, said)


def test_what_is_deaf_to_ctrl_c_gets_sigterm_then(script: Script) -> None:
    source = "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    with running(script(source + READY + SLEEPS), Patience(interrupt=0.1)) as child:
        printed(child, b"ready")
        child.stop()

        assert -signal.SIGTERM == ended(child)
        assert not child.killed


def test_what_is_deaf_to_everything_is_killed(script: Script) -> None:
    with running(script(DEAF + READY + SLEEPS), Patience(interrupt=0.1, terminate=0.1)) as child:
        printed(child, b"ready")
        child.stop()

        assert -signal.SIGKILL == ended(child)
        assert child.killed


@pytest.mark.parametrize(("times", "patience"), [(2, Patience(hurried=0.1)), (3, Patience())])
def test_who_asks_again_waits_less(script: Script, times: int, patience: Patience) -> None:
    with running(script(DEAF + READY + SLEEPS), patience) as child:
        printed(child, b"ready")
        for _ in range(times):
            child.stop()
            child.attend()

        assert -signal.SIGKILL == ended(child)


def test_processes_that_it_leaves_behind_are_ended(script: Script, tmp_path: Path) -> None:
    wait = "while not os.path.exists(here + '/stray'): time.sleep(0.01)\n"
    with running(script(STRAY + wait + "sys.exit(3)\n")) as child:
        stray = pid_in(tmp_path / "stray")

        def first_ended() -> bool:
            child.attend()
            return child.code is not None

        until(first_ended, "it does not end")
        lives = alive(stray)
        child.kill()

        assert 3 == ended(child)
    assert lives
    assert not alive(stray)
    assert no_child_left()


def test_processes_that_left_its_group_are_ended_with_it(script: Script, tmp_path: Path) -> None:
    with running(script(STRAY + DEAF + READY + SLEEPS)) as child:
        stray = pid_in(tmp_path / "stray")
        child.kill()
        ended(child)

    assert not alive(stray)
    assert not alive(child.pid)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_sgdoctor(script: Script, tmp_path: Path, number: int) -> None:
    words = script(STRAY + "open(here + '/engine', 'w').write(str(os.getpid()))\n" + DEAF + SLEEPS)
    source = (
        "import os, sys, time\nfrom sgdoctor.processes.child import Child\n"
        "child = Child(sys.argv[1:], dict(os.environ))\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", source, *words]) as parent:
        engine, stray = pid_in(tmp_path / "engine"), pid_in(tmp_path / "stray")
        parent.send_signal(number)
        parent.wait(20)
        until(lambda: not alive(engine) and not alive(stray), "something is left")

    assert -number == parent.returncode


def test_the_engine_does_not_outlive_its_guard(script: Script) -> None:
    with running(script(READY + SLEEPS)) as child:
        printed(child, b"ready")
        child._guard.kill()

        assert -signal.SIGKILL == ended(child)
    until(lambda: not alive(child.pid), "the engine lives")


@pytest.mark.parametrize(
    ("mode", "message"), [(0o644, "Permission denied"), (0o755, "Exec format error"), (None, "No such file")]
)
def test_what_cannot_be_run_is_said(tmp_path: Path, mode: int | None, message: str) -> None:
    file = tmp_path / "model.bin"
    if mode is not None:
        file.write_bytes(b"\0\1\2")
        file.chmod(mode)

    with pytest.raises(UserError, match=message):
        Child([str(file)], dict(os.environ))
    assert no_child_left()


def test_the_program_is_looked_for_before(tmp_path: Path) -> None:
    plain = tmp_path / "start.sh"
    plain.write_text("#!/bin/sh\n")

    assert Path(sys.executable) == program_of([sys.executable])
    for words, message in (
        (["python3 -m sglang.launch_server"], "without quotes"),
        ([str(plain)], "chmod"),
        (["no-such-program-here"], "no such program"),
    ):
        with pytest.raises(UserError, match=message):
            program_of(words)


def test_what_cannot_be_ended_is_not_waited_for(script: Script) -> None:
    with running(script(READY + SLEEPS), Patience(kill=0.1)) as child:
        printed(child, b"ready")
        # As good as a process that hangs in the kernel: nobody says that it has ended.
        os.kill(child._guard.pid, signal.SIGSTOP)
        child.kill()
        code = ended(child)
        os.kill(child._guard.pid, signal.SIGCONT)
        child._guard.wait(20)

    assert code is None
    assert child.stuck


def test_descriptors_are_not_passed_on(script: Script) -> None:
    source = "print(sorted(int(fd) for fd in os.listdir('/proc/self/fd') if os.path.exists(f'/proc/self/fd/{fd}')))\n"
    with running(script(source)) as child:
        ended(child)
        said = os.read(child.output, 65536)

    assert b"[0, 1, 2]\n" == said


def test_it_needs_no_attention_to_go_on(script: Script, tmp_path: Path) -> None:
    with running(script("open(here + '/done', 'w').write('1')\n")) as child:
        pid_in(tmp_path / "done")
        time.sleep(0.05)

        assert 0 == ended(child)
