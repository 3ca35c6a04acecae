"""The container engine: which one, what it runs, its logs as they are written, and what is left of them on disk."""
