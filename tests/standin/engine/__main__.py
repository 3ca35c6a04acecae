"""`python -m tests.standin.engine ARGS`: the stand-in as a bare process, as `python -m sglang.launch_server ARGS`."""

import sys
from pathlib import Path

from tests.standin.engine.sglang.launch_server import start

if __name__ == "__main__":
    # Here lies the stand-in for transformers.
    sys.path.insert(0, str(Path(__file__).parent))
    start(sys.argv[1:], recommends=True)
