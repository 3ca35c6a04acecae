"""How a server is started, as data."""
