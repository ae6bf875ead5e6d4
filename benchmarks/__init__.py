"""Measurements side by side with other libraries: `make bench`, or `python -m benchmarks`."""
