"""The program `sglang`."""
