"""Values of the rbf kernel from products of rows, in one pass over them."""

from __future__ import annotations

from everypair._compiled.compiling import compiled
from everypair._compiled.exponential import exponential

LEAST_EXPONENT = -700.0
"""What `exponential` takes; its value, 1e-304, stands for all that are smaller."""


@compiled
def rbf_from_products(products, rows, columns):
    """``products[i, j] := exp(min(0, products[i, j] - rows[i] - columns[j]))``, in place.

    With ``2 gamma x.z`` for the products, ``gamma |x|^2`` and ``gamma |z|^2`` this is
    ``exp(-gamma |x - z|^2)``. NaN stays NaN.
    """
    for i in range(products.shape[0]):
        of_row = products[i]
        square = rows[i]
        for j in range(columns.size):
            exponent = of_row[j] - square - columns[j]
            exponent = 0.0 if exponent > 0.0 else exponent
            exponent = LEAST_EXPONENT if exponent < LEAST_EXPONENT else exponent
            of_row[j] = exponential(exponent)
