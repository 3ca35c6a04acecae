"""Relaunching: a plan carried out on a container, a compose service or a process, with a journal and a way back."""
