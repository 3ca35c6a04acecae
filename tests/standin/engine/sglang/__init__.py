"""A stand-in for the engine: replays recorded runs of SGLang, or decides itself. It loads no model."""

import os

__version__ = os.environ.get("STANDIN_VERSION", "0.5.15")
