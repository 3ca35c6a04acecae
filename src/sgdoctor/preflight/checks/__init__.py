"""The checks: one class in one file each. A new file is found by itself (see ``preflight.registry``)."""
