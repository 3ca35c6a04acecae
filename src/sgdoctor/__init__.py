"""sgdoctor: reads the log of an SGLang server, names what went wrong, and says what cures it."""

__version__ = "0.1.0"
