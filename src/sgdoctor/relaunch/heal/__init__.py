"""Healing: launch after launch, each one drawn from how the one before failed, until a server is verified."""
