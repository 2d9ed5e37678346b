"""The data check: what a table should be asked before anything is learnt from it."""
