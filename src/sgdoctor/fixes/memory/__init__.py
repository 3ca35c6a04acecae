"""The solver: which `--mem-fraction-static` fits this card, and what to give up where none does."""
