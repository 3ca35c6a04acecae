"""From hits to a verdict."""
