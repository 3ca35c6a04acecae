"""Servers without a container: processes that are started, followed, and ended with all that belongs to them."""
