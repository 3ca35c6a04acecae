"""Patches as data: repaired configs, a generated sitecustomize.py, what is wrong with launch scripts."""
