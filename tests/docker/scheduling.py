"""How pytest-xdist deals the tests out: those of this folder go to two workers, all others one by one."""

from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

HERE = Path(__file__).parent
PREFIX = f"{HERE.relative_to(HERE.parents[1]).as_posix()}/"
DAEMONS = 2
"""The tests of containers wait for most of their time; each worker that runs some starts an engine of its own."""


class FewWorkersForDocker(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """The tests of one worker share an engine and names in it; every second file goes to the same one.

    `--dist loadgroup` would be the usual way, but xdist 3.8.0 (remote.py) writes a group into `item._nodeid`, which
    pytest 9.2 (nodes.py) no longer reads.
    """

    _files = tuple(sorted(file.name for file in HERE.glob("test_*.py")))

    def _split_scope(self, nodeid: str) -> str:
        if not nodeid.startswith(PREFIX):
            return nodeid
        file = nodeid.removeprefix(PREFIX).partition("::")[0]
        return f"{PREFIX}{self._files.index(file) % DAEMONS}"
