"""A model on disk: where it is, what its files say, and which of them are not whole."""
