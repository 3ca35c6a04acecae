"""From bytes to events: sources, framing, prefixes, folding, and the literal index."""
