"""Watching a server: a feed of bytes becomes a store of lines and a stream of snapshots that views draw."""
