"""How pytest-xdist deals the tests out: two workers run the files of this folder, the others all other tests."""

from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling

HERE = Path(__file__).parent
PREFIX = f"{HERE.relative_to(HERE.parents[1]).as_posix()}/"
ENGINES = 2
"""Workers with an engine of their own: tests of containers wait for most of their time."""


class FewWorkersForDocker(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """The tests of a file share an engine and names in it; others go one by one.

    `--dist loadgroup` would be the usual way, but xdist 3.8.0 (remote.py) writes a group into `item._nodeid`, which
    pytest 9.2 (nodes.py) no longer reads.
    """

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0] if nodeid.startswith(PREFIX) else nodeid

    def _assign_work_unit(self, node: Any) -> None:
        """The next file of this folder for a worker with an engine, as long as there is one; else what comes next."""
        has_engine = node in list(self.assigned_work)[:ENGINES]
        fitting = next((scope for scope in self.workqueue if scope.startswith(PREFIX) is has_engine), None)
        if fitting is not None:
            self.workqueue.move_to_end(fitting, last=False)
        super()._assign_work_unit(node)
