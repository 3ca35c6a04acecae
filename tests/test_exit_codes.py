"""Exit codes in words."""

import signal

import pytest

from sgdoctor.exit_codes import ASKED_TO_STOP, exit_text, is_signal


@pytest.mark.parametrize("name", ["SIGHUP", "SIGINT", "SIGABRT", "SIGBUS", "SIGKILL", "SIGSEGV", "SIGTERM"])
def test_a_code_names_its_signal(name: str) -> None:
    code = 128 + signal.Signals[name]

    assert is_signal(code)
    assert exit_text(code).en.startswith(f"exit code {code} ({name}: ")
    assert exit_text(code).zh.startswith(f"退出码 {code}（{name}：")


@pytest.mark.parametrize("code", [0, 1, 127, 128, 255, -9])
def test_a_code_that_is_no_signal(code: int) -> None:
    assert not is_signal(code)
    assert f"exit code {code}" == exit_text(code).en


def test_who_is_asked_to_stop() -> None:
    assert {129, 130, 143} == ASKED_TO_STOP
