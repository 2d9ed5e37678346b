"""Public data sets, found or downloaded, and simulated ones."""
