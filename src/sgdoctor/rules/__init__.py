"""The rule base: format, loading, matching."""
