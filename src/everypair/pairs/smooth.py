"""Smooth losses, logistic and sigmoid, over every pair through Chebyshev boxes, O(n).

Three steps, kept apart so that blocks of rows can live on different threads or machines:
box moments per block, which add up; a small box-to-box product; evaluation per block.
(Raykar, Duraiswami & Krishnapuram 2008 did erfc in this spirit.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from everypair._compiled import (
    COEFFICIENTS,
    box_evaluate,
    box_moments,
    box_slots,
)
from everypair.cached import cached_property
from everypair.linalg.few_rows import FEW_ROWS, FewInBoxes
from everypair.linalg.matrix import Matrix
from everypair.linalg.row_sums import BoxedRows
from everypair.linalg.threads import over_rows, used_threads
from everypair.linalg.vectors import centred, times, times_less
from everypair.pairs.boxes import PER_UNIT, TERMS, WHOLE_BOXES, BoxKernel
from everypair.pairs.point import (
    FULL_ACCURACY,
    UNIT_ROUNDOFF,
    extent,
    fenchel_dual,
    gram_bytes,
    growth,
)
from everypair.rows import Rows

Array = NDArray[np.float64]

SLOPE_ACCURACY = 2e-13
"""Of the logistic slope of any pair, relative to itself (`tests/pairs/test_boxes.py`)."""

ROUGH_COEFFICIENTS, ROUGH_ACCURACY = 4, 1e-5
"""Enough of each box for the matrix of a Newton step: it costs no step more."""

GRID_BOXES, GRID_BOXES_PER_ROW = 4096, 1 / 16
"""A grid may have a box a row up to the first number and this share beyond; a larger one is
kept sparse: only boxes that hold points."""

FINE_BOXES_PER_ROW = 1e-3
"""Boxes whose sums take little time beside those of the rows."""


LAST_WHOLE_NUMBER = 2.0**52
"""Past it boxes have no numbers of their own, and a grid would miss some."""


@dataclass(frozen=True)
class SmoothKernels:
    """phi, phi' and phi'' as kernels of ``u = s_i - s_j``, targets positive."""

    value: BoxKernel
    slope: BoxKernel
    curvature: BoxKernel

    @cached_property
    def value_from_negatives(self) -> BoxKernel:
        return self.value.reflected()

    @cached_property
    def slope_from_negatives(self) -> BoxKernel:
        return self.slope.reflected()

    @cached_property
    def curvature_from_negatives(self) -> BoxKernel:
        return self.curvature.reflected()


def _bell(u: NDArray[np.longdouble]) -> NDArray[np.longdouble]:
    return expit(u) * expit(-u)


# exp(-|u|), exp(-2|u|), ...: the ends of log(1 + e^-u), sigma(-u) and derivatives are power
# series in them, sum_m (-1)^(m+1) m^k exp(-m|u|) with k = -1, 0, 1, 2.
_M = np.arange(1, TERMS + 1)
_SIGNS = np.where(_M % 2 == 1, 1.0, -1.0)


def _end(constant: float, linear: float, series: Array) -> tuple[float, ...]:
    return constant, linear, *series.tolist()


LOGISTIC_KERNELS = SmoothKernels(
    value=BoxKernel(
        lambda u: np.logaddexp(0, -u),
        above=_end(0, 0, _SIGNS / _M),
        below=_end(0, -1, _SIGNS / _M),
    ),
    slope=BoxKernel(lambda u: -expit(-u), above=_end(0, 0, -_SIGNS), below=_end(-1, 0, _SIGNS)),
    curvature=BoxKernel(_bell, above=_end(0, 0, _SIGNS * _M), below=_end(0, 0, _SIGNS * _M)),
)
SIGMOID_KERNELS = SmoothKernels(
    value=BoxKernel(lambda u: expit(-u), above=_end(0, 0, _SIGNS), below=_end(1, 0, -_SIGNS)),
    slope=BoxKernel(
        lambda u: -_bell(u), above=_end(0, 0, -_SIGNS * _M), below=_end(0, 0, -_SIGNS * _M)
    ),
    curvature=BoxKernel(
        lambda u: _bell(u) * np.tanh(u / 2),
        above=_end(0, 0, _SIGNS * _M**2),
        below=_end(0, 0, -_SIGNS * _M**2),
    ),
)


def fits_grid(first: float, last: float, n_rows: int) -> bool:
    """Whether all boxes from the first to the last are few enough to be there, held or not."""
    most = max(min(GRID_BOXES, n_rows), n_rows * GRID_BOXES_PER_ROW, WHOLE_BOXES)
    return bool(last - first < most and max(-first, last) < LAST_WHOLE_NUMBER)


class BoxedScores:
    """Scores laid into boxes: ``ids`` of the boxes, ascending, and each row's slot in them.

    ``pairs`` says which rows are positive and their shares: `Rows`, or a block of them.
    """

    def __init__(self, pairs: Any, scores: Array, ids: Array | None = None):
        self.pairs, self.scores = pairs, scores
        self._few: FewInBoxes | None = None
        if scores.size <= FEW_ROWS:
            self._lay_few(ids)
            return
        if ids is None:
            first, last = (np.floor(end * PER_UNIT) for end in extent(scores))
            if fits_grid(first, last, scores.size):
                ids = np.arange(first, last + 1)
            else:
                ids = np.unique(np.floor(scores * PER_UNIT))
        self.ids = ids
        if ids[-1] - ids[0] == ids.size - 1:
            self.slots = np.empty(scores.size, dtype=np.int32)
            self._over_rows(lambda lo, hi: box_slots(scores, PER_UNIT, ids[0], lo, hi, self.slots))
        else:
            self.slots = np.searchsorted(ids, np.floor(scores * PER_UNIT)).astype(np.int32)
        # Adding up a block's moments costs a tenth of summing them.
        self.block = max(int(np.sqrt(scores.size)), 8 * self.ids.size)

    def _lay_few(self, ids: Array | None) -> None:
        x = self.scores * PER_UNIT
        box = np.floor(x)
        if ids is None:
            first, last = float(box.min()), float(box.max())
            on_grid = fits_grid(first, last, x.size)
            ids = np.arange(first, last + 1) if on_grid else np.unique(box)
        self.ids = ids
        on_grid = ids[-1] - ids[0] == ids.size - 1
        self.slots = (box - ids[0] if on_grid else ids.searchsorted(box)).astype(np.int32)
        # The difference is exact, or within 2^-53 of one just below a box.
        self._few = FewInBoxes(self.pairs.positive, self.slots, x - box, ids.size, COEFFICIENTS)

    @property
    def chain(self) -> float:
        """Additions behind a moment: of a block's rows, then of the blocks."""
        n_rows = self.scores.size
        if self._few is not None:
            return n_rows
        return min(self.block, n_rows) + n_rows / self.block

    def _over_rows(self, work) -> list:  # type: ignore[no-untyped-def, type-arg]
        """Finely, unless the sums that come back are large beside the rows."""
        finely = self.ids.size < FINE_BOXES_PER_ROW * self.scores.size
        return over_rows(work, self.scores.size, 10 * self.scores.size, finely=finely)

    def moments(self, weights: Array, rough: bool = False) -> Array:
        """``[class, box, k]``, class 1 positive; ``rough`` ones are not added up in blocks."""
        if self._few is not None:
            return self._few.moments(weights)
        block = self.scores.size if rough else self.block

        def part(start: int, stop: int) -> Array:
            out = np.zeros((2, self.ids.size, COEFFICIENTS))
            box_moments(
                self.scores, weights, self.pairs.positive, self.slots, PER_UNIT, start, stop,
                block, out,
            )  # fmt: skip
            return out

        parts = self._over_rows(part)
        return np.asarray(sum(parts[1:], parts[0]))

    def evaluate(self, on_negatives: Array, on_positives: Array) -> Array:
        """The fields of each row's own class at the row, times its weight."""
        fields = np.array([on_negatives, on_positives])
        if self._few is not None:
            return self._few.evaluate(fields, self.pairs.share)
        out = np.empty(self.scores.size)
        weight, positive = self.pairs.share, self.pairs.positive
        self._over_rows(
            lambda start, stop: box_evaluate(
                self.scores, weight, positive, self.slots, PER_UNIT, fields, start, stop, out
            )
        )
        return out

    @property
    def rows(self) -> BoxedRows:
        pairs, few = self.pairs, self._few
        return BoxedRows(
            self.scores, pairs.share, pairs.positive, self.slots, PER_UNIT, self.ids.size, few
        )

    def total(self, value: float) -> float:
        """The sum over all rows of which ``value`` is the sum over these: they are all."""
        return value

    def largest(self, value: float) -> float:
        return value


class SmoothPoint:
    """A smooth pair loss at one vector of scores."""

    def __init__(
        self,
        kernels: SmoothKernels,
        pairs: Rows,
        scores: Array,
        boxes: BoxedScores | None = None,
    ):
        self.kernels, self.pairs, self.scores = kernels, pairs, scores
        self.boxes = BoxedScores(pairs, scores) if boxes is None else boxes
        self.moments = self.boxes.moments(pairs.share)
        self.with_negatives, self.with_positives = self.moments[:, :, 0] > 0

    def value(self) -> float:
        """``sum_AB M_P[A]' C[A - B] M_N[B]``: nothing is evaluated at the rows."""
        of_negatives, of_positives = self.moments
        fields = self.kernels.value.fields(self.boxes.ids, of_negatives, self.with_positives)
        return float(np.vdot(of_positives, fields))

    def losses_of_negatives(self) -> Array:
        """``b_j sum_i a_i phi(s_i - s_j)`` at each negative row, 0 at the positive ones."""
        _, of_positives = self.moments
        fields = self.kernels.value_from_negatives.fields(
            self.boxes.ids, of_positives, self.with_negatives
        )
        return self.boxes.evaluate(on_negatives=fields, on_positives=np.zeros_like(fields))

    def gradient(self) -> Array:
        return self.slope_sums(self.moments)

    def slope_sums(self, moments: Array) -> Array:
        of_negatives, of_positives = moments
        ids = self.boxes.ids
        return self.boxes.evaluate(
            on_negatives=-self.kernels.slope_from_negatives.fields(
                ids, of_positives, self.with_negatives
            ),
            on_positives=self.kernels.slope.fields(ids, of_negatives, self.with_positives),
        )

    def curvature_sums(self, moments: Array) -> Array:
        of_negatives, of_positives = moments
        ids = self.boxes.ids
        return self.boxes.evaluate(
            on_negatives=self.kernels.curvature_from_negatives.fields(
                ids, of_positives, self.with_negatives
            ),
            on_positives=self.kernels.curvature.fields(ids, of_negatives, self.with_positives),
        )

    @cached_property
    def _curvature(self) -> Array:
        return self.curvature_sums(self.moments)

    def curvature(self) -> Array:
        return self._curvature

    def product(self, vector: Array) -> Array:
        vector = centred(self.pairs, vector)
        # A product makes a direction, which no certificate rests on.
        others = self.curvature_sums(
            self.boxes.moments(times(self.pairs.share, vector), rough=True)
        )
        out: Array = times_less(self._curvature, vector, others)
        return out

    def hessian(self, X: Matrix, accuracy: float = FULL_ACCURACY) -> Array:
        """``X' diag(d) X - C - C'`` with ``C = Z_P' (table) Z_N``, Z the moments of rows."""
        n_coef = ROUGH_COEFFICIENTS if accuracy >= ROUGH_ACCURACY else COEFFICIENTS
        rough = n_coef < COEFFICIENTS
        n_columns, boxes = X.shape[1], self.boxes
        gram, moments = X.gram_and_boxes(self._curvature, self.boxed_rows(), n_coef, rough)
        if rough and not np.all(np.isfinite(gram)):
            return self.hessian(X)  # too large for single precision
        of_negatives, of_positives = moments
        fields = self.kernels.curvature.row_fields(
            boxes.ids, self.with_negatives, self.with_positives, of_negatives
        )
        flat = (-1, n_columns)
        cross = of_positives.reshape(flat).T @ fields.reshape(flat)
        return gram - cross - cross.T

    def boxed_rows(self) -> BoxedRows:
        return self.boxes.rows

    def hessian_bytes(self, n_columns: int) -> int:
        """With the moments of rows, of each thread, which grow with the range of the scores."""
        moments = 8 * 2 * self.boxes.ids.size * ROUGH_COEFFICIENTS * n_columns * used_threads()
        return moments + gram_bytes(n_columns)

    def dual_value(self) -> float:
        return fenchel_dual(self.value(), self.pairs, self.scores, self.gradient())

    def gradient_error(self, size: float) -> float:
        """Margins inside the boxes are exact, and every pair pulls the same way.

        Moments of equal terms round the same way each time.
        """
        sums = growth(self.pairs.n_rows) + UNIT_ROUNDOFF * self.boxes.chain
        return (SLOPE_ACCURACY + sums) * size

    def gradient_row_errors(self, gradient: Array) -> Array:
        return self.gradient_error(1.0) * abs(gradient)

    def steepest(self) -> float:
        return 0.25 * self.pairs.largest_share
