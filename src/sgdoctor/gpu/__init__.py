"""What the GPUs of this machine say: NVML, and what to do without it."""
