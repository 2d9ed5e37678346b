"""One decomposition for every ridge and every set of rows left out.

Leaving rows H out removes every pair that they touch: the totals A, B of the class weights
fall, and with them the weights D of the rows that stay (see `dual`). Up to a factor, D depends
on A / B alone, so one decomposition serves all sets H that leave the same ratio, whatever ridge.
In units of ``r_k = sqrt(D_k)``, with y~ = r y and u along r,

    fitted = (u u' + S) y~ ,    S = V diag(l / (l + ridge)) V' ,    V, l of  r_i K_ij r_j  centred,

and with R = I - u u' - S (that is 0 along u and ridge / (l + ridge) elsewhere) the scores of the
rows left out by the model of the others solve, exactly,

    R_HH f~_H = S_HR y~_R = S y~|_H - S_HH y~_H = R_HH y~_H - R y~|_H .

The first form keeps its digits for large ridge (S small), the second for small ridge (R small).
The intercept inside f puts the midpoint of the training classes' mean scores at zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from everypair.rls.dual import centre_kernel, scaled_eigenvectors

Array = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True)
class Totals:
    """Class weights that are left for training: A of the positives, B of the negatives."""

    of_positives: float
    of_negatives: float

    @property
    def ratio(self) -> float:
        """Rounded where sums of the same weights in another order would differ."""
        return float(f"{self.of_positives / self.of_negatives:.12e}")

    @property
    def size(self) -> float:
        return float(np.sqrt(self.of_positives * self.of_negatives))


class Spectrum:
    """V, l and u of all rows, weighted for a training set with the given ratio A / B."""

    def __init__(self, root: Array, y: Array, values: Array, vectors: Array, *, singular: bool):
        self.root, self.y, self.values = root, root * y, values
        self.singular = singular
        """From singular values of the rows, which keep digits that a kernel matrix has lost."""
        self.vectors = np.ascontiguousarray(vectors)
        self.u = root / np.sqrt(root @ root)
        # Rows of I - uu' - VV': what neither the kernel nor the intercept can move.
        full = values.size == root.size - 1
        self.squares = self.vectors**2
        unmoved = 1 - self.u**2 - self.squares.sum(axis=1)
        self.unmoved = None if full else np.maximum(unmoved, 0.0)

    @classmethod
    def of_kernel(
        cls, K: Array, positive: NDArray[np.bool_], weight: Array, ratio: float
    ) -> Spectrum:
        root = _root(positive, weight, ratio)
        centred = np.empty_like(K, order="C")
        centre_kernel(K, root, centred)
        size = float(np.max(np.abs(K.diagonal()), initial=0.0))
        values, vectors, _ = scaled_eigenvectors(centred, root, size)
        return cls(root, np.where(positive, 1.0, -1.0), values, vectors, singular=False)

    @classmethod
    def of_rows(cls, X: Any, positive: NDArray[np.bool_], weight: Array, ratio: float) -> Spectrum:
        """For the linear kernel, from the rows themselves: V is n x p."""
        root = _root(positive, weight, ratio)
        rows = X.toarray() if sparse.issparse(X) else X
        rows = np.array(rows, dtype=np.float64, order="C")
        rows -= (root**2 / (root @ root)) @ rows
        rows *= root[:, None]
        # Rounding of a mean far from the origin leaves something along u.
        u = root / np.sqrt(root @ root)
        along = u @ rows
        rows -= u[:, None] * along
        vectors, values, _ = np.linalg.svd(rows, full_matrices=False)
        size = max(float(values[0]), float(np.linalg.norm(along)))
        least = float(np.sqrt(np.finfo(float).tiny))  # its square is the least that is a number
        kept = values > max(max(rows.shape) * np.finfo(float).eps * size, least)
        kept[root.size - 1 :] = False  # centred rows: u is not among the vectors
        values, vectors = values[kept] ** 2, vectors[:, kept]
        return cls(root, np.where(positive, 1.0, -1.0), values, vectors, singular=True)

    def at(self, ridges: Array) -> Smoothers:
        return Smoothers(self, ridges)


class Smoothers:
    """R (or -S) at each ridge: diagonal, product with y~, and blocks of it; one row a ridge.

    Both forms are written with one matrix T: ``R_ij = T_ij - u_i u_j`` off the diagonal and
    ``right side_i = beta_i + T_ij y~_j + ...``; T is -S, or R itself with u = 0.
    """

    def __init__(self, spectrum: Spectrum, ridges: Array):
        values, V, y = spectrum.values, spectrum.vectors, spectrum.y
        largest = values.max(initial=0.0)
        self.spectrum = spectrum
        self.by_S = ridges >= largest
        # Twins of different class have the same score; the difference that rounding makes of
        # it was at most 6 roundings of its terms, and 0.06 largest / ridge more, at any ridge. From
        # the rows, whose spread is the root of the kernel's, it is the root of that.
        spread = np.minimum(largest / ridges, largest / values.min(initial=largest or 1.0))
        spread = np.sqrt(spread) if spectrum.singular else spread
        self.precision = np.finfo(float).eps * (6 + 0.06 * spread)
        column = ridges[:, None]
        kept, shrunk = values / (values + column), column / (values + column)
        small = np.where(self.by_S[:, None], kept, shrunk)
        self.filters = np.where(self.by_S[:, None], -kept, shrunk)
        self.u = self.by_S[:, None] * spectrum.u

        along = V.T @ y
        diagonal, product = small @ spectrum.squares.T, (small * along) @ V.T
        free_y = y - spectrum.u * (spectrum.u @ y)  # y~ without its part along u
        of_R = ~self.by_S
        if spectrum.unmoved is not None:
            diagonal[of_R] += spectrum.unmoved
            product[of_R] += free_y - V @ along
        self.magnitude = np.sqrt(np.maximum(diagonal * (product @ y)[:, None], 0.0))
        """Of the terms in beta: what rounding is to be compared with."""
        self.R_diagonal = np.where(of_R[:, None], diagonal, 1 - spectrum.u**2 - diagonal)
        self.R_y = np.where(of_R[:, None], product, free_y - product)
        self.beta = np.where(of_R[:, None], diagonal * y - product, product - diagonal * y)
        self.y_R_y = self.R_y @ y

    def block(self, k: int, rows: Index, columns: Index) -> Array:
        """T at the k-th ridge for two sets of rows; where they meet it has no meaning."""
        V = self.spectrum.vectors
        out = (V[rows] * self.filters[k]) @ V[columns].T
        if not self.by_S[k] and self.spectrum.unmoved is not None:
            out += unmoved_block(self.spectrum, rows, columns)
        return np.asarray(out)


def unmoved_block(spectrum: Spectrum, rows: Index, columns: Index) -> Array:
    """``I - uu' - VV'`` for two disjoint sets of rows."""
    V, u = spectrum.vectors, spectrum.u
    return np.asarray(-np.outer(u[rows], u[columns]) - V[rows] @ V[columns].T)


def _root(positive: NDArray[np.bool_], weight: Array, ratio: float) -> Array:
    """``sqrt(D)`` over the fourth root of A B: ``a_i sqrt(B / A)`` and ``b_j sqrt(A / B)``."""
    side = np.sqrt(ratio)
    return np.sqrt(weight * np.where(positive, 1 / side, side))
