"""A stand-in for the engine: replays recorded runs of SGLang 0.5.15. It loads no model and computes nothing."""

__version__ = "0.5.15"
