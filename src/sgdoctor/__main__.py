"""Entry point of ``sgdoctor`` and ``python -m sgdoctor``."""

import gc
import sys

# A start makes many objects that live on and hardly any garbage; looking for it after every 700 new ones (Python's
# default) takes 6 ms of the 120 that a whole `sgdoctor diagnose` needs.
gc.set_threshold(50_000, 20, 20)

from sgdoctor.cli.main import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
