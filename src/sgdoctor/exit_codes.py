"""Exit codes in words: shells and Docker tell a process that a signal ended by 128 and the number of the signal."""

from typing import Final

from sgdoctor.texts import Text

_BASE: Final = 128
# signal(7); the numbers are those of Linux, wherever the log is read.
_SIGNALS: Final = {
    1: Text("SIGHUP: its terminal was closed", "SIGHUP：终端已关闭"),
    2: Text("SIGINT: Ctrl-C", "SIGINT：Ctrl-C"),
    3: Text("SIGQUIT: told to end at once", "SIGQUIT：被要求立即退出"),
    4: Text("SIGILL: an instruction that this CPU does not have", "SIGILL：CPU 不支持的指令"),
    6: Text("SIGABRT: native code gave up", "SIGABRT：原生代码主动中止"),
    7: Text("SIGBUS: memory that was not there, often a full /dev/shm", "SIGBUS：内存不可用，常因 /dev/shm 已满"),
    8: Text("SIGFPE: a division by zero in native code", "SIGFPE：原生代码中除以零"),
    9: Text("SIGKILL: killed from outside, often because RAM ran out", "SIGKILL：被外部强制终止，常因内存（RAM）耗尽"),
    11: Text("SIGSEGV: a crash in native code", "SIGSEGV：原生代码崩溃"),
    13: Text("SIGPIPE: nobody read its output any more", "SIGPIPE：已没有程序读取它的输出"),
    15: Text("SIGTERM: asked to stop", "SIGTERM：被要求停止"),
}
ASKED_TO_STOP: Final = frozenset(_BASE + number for number in (1, 2, 15))
"""Codes of a process that was told to end."""


def is_signal(code: int) -> bool:
    """Whether an exit code says that a known signal ended the process."""
    return code - _BASE in _SIGNALS


def exit_text(code: int) -> Text:
    """An exit code, with the signal that it stands for: ``exit code 143 (SIGTERM: asked to stop)``."""
    signal = _SIGNALS.get(code - _BASE)
    if signal is None:
        return Text(f"exit code {code}", f"退出码 {code}")
    return Text(f"exit code {code} ({signal.en})", f"退出码 {code}（{signal.zh}）")
