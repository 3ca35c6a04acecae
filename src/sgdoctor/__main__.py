"""Entry point of ``sgdoctor`` and ``python -m sgdoctor``."""

# `_signal` is built in; while `signal` is loaded, Ctrl-C would already find no one.
import _signal as signal  # type: ignore[import-not-found]
import gc
import sys

# Ctrl-C while the program is being loaded, and while it ends, ends it without a word; Python would show a traceback.
_ANSWERS = signal.getsignal(signal.SIGINT) is signal.default_int_handler
if _ANSWERS:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

# A start makes many objects that live on and hardly any garbage; looking for it after every 700 new ones (Python's
# default) takes 6 ms of the 120 that a whole `sgdoctor diagnose` needs.
gc.set_threshold(50_000, 20, 20)

from sgdoctor.cli.main import main as run  # noqa: E402


def main() -> int:
    """Runs the command line of this process; returns the exit code."""
    if not _ANSWERS:
        return run()
    code = run(loaded=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return code


if __name__ == "__main__":
    sys.exit(main())
