"""Measurements, one script each; their tables are kept in docs/benchmarks."""
