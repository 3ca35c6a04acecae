"""How pytest-xdist deals the tests out: a file of this folder goes to one worker, all other tests one by one."""

from pathlib import Path

from xdist.scheduler import LoadScopeScheduling

HERE = f"{Path(__file__).parent.relative_to(Path(__file__).parents[2]).as_posix()}/"


class FilesOfDocker(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Each worker starts a daemon of its own, and the files share them out: most of their time is waiting.

    `--dist loadgroup` would be the usual way, but xdist 3.8.0 (remote.py) writes a group into `item._nodeid`, which
    pytest 9.2 (nodes.py) no longer reads.
    """

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0] if nodeid.startswith(HERE) else nodeid
