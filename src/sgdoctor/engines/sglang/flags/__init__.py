"""The flags of each SGLang version: what they are called, what they take, and what is wrong with those of a command.

Nothing here is on the way of ``diagnose``, which needs no more than the names of flags (``history.py``).
"""
