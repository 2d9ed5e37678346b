"""Files of tables: how they are read, what their columns mean, how files are written."""
