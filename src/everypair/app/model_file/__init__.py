"""A model on disk: plain arrays and JSON, checked as they are read."""
