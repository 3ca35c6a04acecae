"""What all tests share: the fixture logs, and a home of their own so that no rule or cache of the user plays a part."""

import gc
import os
import signal
from pathlib import Path
from typing import Any

import pytest

# As the program has it (`__main__.py`): beside thousands of collected tests each look for garbage takes 0.2 s, and with
# Python's default these are a quarter of the time of a run.
gc.set_threshold(50_000, 20, 20)

REPO = Path(__file__).parent.parent
LOGS = REPO / "fixtures" / "logs"


@pytest.fixture(scope="session", autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Configuration, cache and state in a fresh folder; no language or colour setting of the machine."""
    home = tmp_path_factory.mktemp("home")
    for variable, folder in (("XDG_CONFIG_HOME", "config"), ("XDG_CACHE_HOME", "cache"), ("XDG_STATE_HOME", "state")):
        os.environ[variable] = str(home / folder)
    for variable in ("LC_ALL", "LC_MESSAGES", "LANGUAGE", "NO_COLOR", "FORCE_COLOR", "SGDOCTOR_RULES"):
        os.environ.pop(variable, None)
    os.environ["LANG"] = "C.UTF-8"


@pytest.fixture(scope="session", autouse=True)
def heard_interrupts() -> None:
    """Programs under test hear Ctrl-C; a shell starts what it puts into the background with SIGINT ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `-n`, the tests of the Docker daemon go to few workers; None is the usual way."""
    if config.getvalue("dist") != "load":
        return None
    from tests.docker.scheduling import FewWorkersForDocker

    return FewWorkersForDocker(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With `-n auto`: half of the tests' time is waiting, for a daemon or for a screen."""
    return 2 * (os.cpu_count() or 1)


@pytest.fixture
def logs() -> Path:
    """The folder `fixtures/logs`."""
    return LOGS
