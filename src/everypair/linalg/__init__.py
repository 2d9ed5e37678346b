"""X as solvers see it: matrices, kernels and their pivots, orders, threads."""
