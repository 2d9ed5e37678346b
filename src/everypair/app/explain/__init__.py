"""What the columns of a table do in a model: worth on held-out rows, and shares of a score."""
