"""Areas, errors and thresholds of a ranking."""
