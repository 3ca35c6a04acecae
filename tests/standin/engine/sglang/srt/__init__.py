"""What start scripts import from here."""
