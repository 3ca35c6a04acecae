"""What checks of launches share: problems as findings, GPUs as the engine sees them, places, settings of containers."""
