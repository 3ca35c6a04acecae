"""How pytest-xdist deals the tests out: those of this folder go to one worker, all others one by one."""

from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

HERE = f"{Path(__file__).parent.relative_to(Path(__file__).parents[2]).as_posix()}/"


class OneWorkerForDocker(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """The daemon's tests share one daemon and names in it.

    `--dist loadgroup` would be the usual way, but xdist 3.8.0 (remote.py) writes a group into `item._nodeid`, which
    pytest 9.2 (nodes.py) no longer reads.
    """

    def _split_scope(self, nodeid: str) -> str:
        return HERE if nodeid.startswith(HERE) else nodeid
