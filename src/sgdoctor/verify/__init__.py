"""Whether a server that says it is ready serves: questions over HTTP, and what is wrong with the answers."""
