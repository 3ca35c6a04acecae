"""Checks of a launch before its first start."""
