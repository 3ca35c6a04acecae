"""Entry point of ``sgdoctor`` and ``python -m sgdoctor``."""

import sys

from sgdoctor.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
