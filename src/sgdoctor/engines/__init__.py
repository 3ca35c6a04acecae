"""What each engine prints: one folder per engine behind the protocol of ``base``."""
