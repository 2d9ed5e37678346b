"""Solvers for the pair objectives; `choose` says which one runs."""
