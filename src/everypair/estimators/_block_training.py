"""The rows of a fit in blocks as solvers see them, and their folds: views without copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.model_selection import PredefinedSplit, StratifiedKFold

from everypair.blocks import source
from everypair.estimators._calibration import calibrated, method_for
from everypair.estimators._cross_fit import OutOfFold
from everypair.estimators._search import DEFAULT_FOLDS, side_by_side
from everypair.estimators._training import ArrayFolds, TrainingFolds
from everypair.linalg.block_folds import (
    Folds,
    FoldsOfGroups,
    GivenFolds,
    StratifiedFolds,
    ever_tested,
    tested,
    training,
    training_alike,
)
from everypair.linalg.block_histogram import Ranking
from everypair.linalg.block_jobs import Job
from everypair.linalg.block_matrix import BlockMatrix
from everypair.linalg.block_shard import Shard
from everypair.linalg.block_vector import BlockVector
from everypair.linalg.blocks import Blocks, LocalBlocks
from everypair.linalg.matrix import Matrix
from everypair.metrics.streamed import cut_of_ranking, streams
from everypair.metrics.thresholds import cut_by
from everypair.pairs.blocked import BLOCK_POINTS, BlockRows
from everypair.pairs.blocked_groups import BlockGroups
from everypair.rows import Rows

Array = NDArray[np.float64]
Item = TypeVar("Item")

GATHERED_BYTES_PER_ROW = 120
"""Of a fit that needs all scores at once: scores, their order, and what the steps are made of."""


def refuse_to_gather(blocks: Blocks, what: str, instead: str) -> None:
    """Refuse what needs all scores in this process where that takes too much memory."""
    needed, most = GATHERED_BYTES_PER_ROW * blocks.n_rows, source.MOST_GATHERED_BYTES
    if needed > most:
        raise ValueError(
            f"{what} needs the scores of all {blocks.n_rows} rows in one process, about "
            f"{needed / 2**30:.1f} GiB, and the limit is {most / 2**30:g} GiB: "
            f"{instead}, or raise everypair.blocks.source.MOST_GATHERED_BYTES."
        )


class BlockTraining:
    """`Training` of rows in blocks, for one loss; one that needs the order of all scores gathers
    them."""

    def __init__(self, model: Any, blocks: Blocks, loss: str):
        self._model, self.blocks, self.loss = model, blocks, loss
        self.pairs: Any = self._pairs_of(blocks)
        model.n_groups_without_pairs_ = self.pairs.n_groups_without_pairs
        gathers = loss not in (*BLOCK_POINTS, "extent")
        if gathers:
            refuse_to_gather(blocks, f"loss={loss!r}", "use loss='logistic'")
            self.pairs = self.pairs.gathered()
        if not streams(model.threshold):
            rule = f"threshold={model.threshold!r}"
            refuse_to_gather(blocks, rule, "use threshold='balanced'")
        self.X: Any = BlockMatrix(blocks, gathers=gathers)
        self.positive_share = blocks.totals[1] / sum(blocks.totals)

    def _pairs_of(self, blocks: Blocks) -> BlockRows:
        if blocks.grouped:
            return BlockGroups(blocks, getattr(self._model, "within_weight", "pairs"))
        return BlockRows(blocks, self.loss)

    def _vector(self, scores: Any) -> BlockVector:
        return scores if isinstance(scores, BlockVector) else self.blocks.spread(scores)

    def cut(self, scores: Any, held_out: Any = None, in_folds: Any = None) -> float:
        """By the training scores where nobody asks for folds: rows in blocks are many, and a fit
        reads all of them at each pass."""
        model = self._model
        if held_out is None:
            held_out = self._cross_fit()
        if held_out is None:
            return self._choose(self._vector(scores), 0.0)
        if isinstance(held_out, BlockVector):
            level = mean_of(self._vector(scores), self.blocks)
            return self._choose(held_out, level)
        weight = self.blocks.weight.gather() if self.blocks.weighted else None
        found = model._choose_threshold(self.pairs.positive, scores, weight, held_out)
        return float(found)

    def _choose(self, scores: BlockVector, level: float) -> float:
        """The cut of these scores, and ``calibrator_`` where it is asked for, as
        `BinaryRanker._choose_threshold` has it."""
        model, blocks = self._model, scores.blocks
        rule = model.threshold
        if isinstance(rule, Real):
            cut = float(rule) - level
        elif rule == "midpoint":
            of_positives, of_negatives = blocks.run(Job.of("class-means", _means, [scores]))
            cut = float(of_negatives + (of_positives - of_negatives) / 2)
        elif streams(rule):
            totals = blocks.totals[1], blocks.totals[0]
            cut = cut_of_ranking(rule, Ranking.of(scores), totals)
        else:
            rows, kept = gathered(scores)
            cut = cut_by(rule, rows, kept)
        if model.calibration is not None:
            refuse_to_gather(blocks, f"calibration={model.calibration!r}", "use calibration=None")
            there = blocks.weight.gather() > 0
            values, positive = scores.gather()[there], blocks.positive.gather()[there]
            weight = blocks.weight.gather()[there] if blocks.weighted else None
            method = method_for(model.calibration, positive.size)
            model.calibrator_ = calibrated(method, values - cut, positive, weight, model.prior)
        return cut + level

    def _cross_fit(self, own: Any = None) -> BlockVector | None:
        """Scores by models of the same kind that have not seen the rows; None where the cut does
        without, or where nobody asked for folds and the rows have none."""
        model, blocks = self._model, self.blocks
        rarer = min(np.sum(blocks.counts, axis=0).tolist())
        effective = partial(rarer_rows_of, blocks)
        if not model._wants_folds(blocks.n_columns, effective, own):
            return None
        asked = model.cv is not None or model.calibration is not None or model._guarantees
        if rarer < 2 and not asked:
            return None
        cv = self._model.cv
        folds = BlockFolds(self, folds_over(self.blocks, cv, of_weight=True), each_has_auc=False)
        plain = self._model._plain()
        names = getattr(self._model, "feature_names_in_", None)

        def coef_of(k: int) -> Array:
            view = folds.weighing_alike(k)
            rows = source.EngineRows(view, self._model.classes_, names)
            coef: Array = plain.__sklearn_clone__().fit(rows).coef_[0]
            return coef

        coefs = folds.side_by_side([partial(coef_of, k) for k in range(len(folds))], None)
        return folds.vector(coefs)

    def cross_fitted(self, own: Any) -> OutOfFold | None:
        """The same as arrays; ``own`` is what ``threshold=None`` means."""
        vector = self._cross_fit(own)
        if vector is None:
            return None
        rows = np.flatnonzero(vector.blocks.weight.gather())
        return OutOfFold(rows, vector.gather()[rows])

    def folds(self, cv: Any) -> TrainingFolds:
        folds = folds_over(self.blocks, cv)
        if isinstance(self.pairs, BlockRows):
            return BlockFolds(self, folds)
        return GatheredFolds(self, folds)


class BlockFolds:
    """`TrainingFolds` of rows in blocks. The folds share each pass over the rows."""

    def __init__(self, rows: BlockTraining, folds: Folds, each_has_auc: bool = True):
        self._rows, self._folds = rows, folds
        self._training = [self._part(training, k, "trains") for k in range(folds.n_folds)]
        self._tested = []
        if each_has_auc:
            self._tested = [self._part(tested, k, "tests") for k in range(folds.n_folds)]

    def _part(self, which: Any, k: int, what: str) -> Blocks:
        try:
            return self._rows.blocks.only(which(self._folds, k))
        except ValueError as error:
            raise ValueError(
                f"Fold {k} of cv {what} on one class only: use stratified or fewer folds."
            ) from error

    def __len__(self) -> int:
        return self._folds.n_folds

    def weighing_alike(self, k: int) -> Blocks:
        """The engine of the rows that fold k trains on. They weigh as much as all rows of their
        class do: a measure that depends on the classes' shares keeps its meaning."""
        blocks, part = self._rows.blocks, self._training[k]
        scales = blocks.totals[0] / part.totals[0], blocks.totals[1] / part.totals[1]
        return blocks.only(training_alike(self._folds, k, scales))

    def training(self, k: int) -> tuple[Matrix, Any]:
        view = self._training[k]
        X: Any = self._rows.X.over(view)
        return X, self._rows._pairs_of(view)

    def area(self, k: int, scores: BlockVector) -> float:
        from everypair.pairs import auc

        of_tested: Any = scores.on(self._tested[k])
        return auc(self._rows.pairs, of_tested)

    def kept(self, k: int, scores: BlockVector, coef: Array) -> tuple[Array, float]:
        return coef, mean_of(scores, self._rows.blocks)

    def held_out(self, kept: Sequence[tuple[Array, float]]) -> BlockVector:
        return self.vector([coef for coef, _ in kept], [level for _, level in kept])

    def vector(self, coefs: Sequence[Array], levels: Sequence[float] | None = None) -> BlockVector:
        """Of each row the score of the model that has not seen it, less its mean over all rows."""
        view = self._rows.blocks.only(ever_tested(self._folds))
        matrix = self._rows.X.over(view)
        if levels is None:
            means = matrix.weighted_means(self._rows.blocks.weight)
            levels = [float(means @ coef) for coef in coefs]
        return matrix.dot_by_fold(self._folds, np.asarray(coefs), np.asarray(levels))

    def side_by_side(
        self,
        tasks: Sequence[Callable[[], Item]],
        n_jobs: int | None,
        what: str = "cross-validation",
        verbose: int = 0,
    ) -> list[Item]:
        return sharing_passes(self._rows.blocks, tasks, n_jobs)


class GatheredFolds(ArrayFolds):
    """Folds of arrays of scores whose X comes in blocks."""

    def __init__(self, rows: BlockTraining, folds: Folds):
        blocks = rows.blocks
        numbers = blocks.zeros.each(partial(_numbers, folds)).gather()
        splits = PredefinedSplit(numbers).split()
        weight = blocks.weight.gather() if blocks.weighted else None
        super().__init__(rows.X, rows.pairs, weight, list(splits))
        self._blocks = blocks

    def side_by_side(
        self,
        tasks: Sequence[Callable[[], Item]],
        n_jobs: int | None,
        what: str = "cross-validation",
        verbose: int = 0,
    ) -> list[Item]:
        return sharing_passes(self._blocks, tasks, n_jobs)


def sharing_passes(
    blocks: Blocks, tasks: Sequence[Callable[[], Item]], n_jobs: int | None
) -> list[Item]:
    """The tasks' results; ``n_jobs`` of them at a time share each pass, all of them where None."""
    if not isinstance(blocks, LocalBlocks):
        return side_by_side(tasks, 1)
    at_once = len(tasks) if n_jobs is None else effective_n_jobs(n_jobs)
    return blocks.passes.share(tasks, at_once)


def folds_over(blocks: Blocks, cv: Any, of_weight: bool = False) -> Folds:
    """A number of stratified folds, those of scikit-learn for arrays, or a fold per row.

    ``of_weight``: only rows with weight are shared out, and None is as many folds as the rarer
    class allows.
    """
    rarer = min(np.sum(blocks.counts, axis=0).tolist())
    if cv is None or isinstance(cv, Integral):
        n_folds = DEFAULT_FOLDS if cv is None else int(cv)
        if cv is None and of_weight:
            n_folds = min(n_folds, rarer)
    elif isinstance(cv, StratifiedKFold) and not cv.shuffle:
        n_folds = cv.n_splits
    elif isinstance(cv, PredefinedSplit) and blocks.here:
        if cv.test_fold.size != blocks.n_rows:
            raise ValueError(
                f"cv has a fold for {cv.test_fold.size} rows, but there are {blocks.n_rows}: give "
                "one per row."
            )
        return GivenFolds(cv.test_fold)
    else:
        raise ValueError(
            f"cv={cv!r} needs arrays: for rows in blocks give a number of folds, which are "
            "stratified" + (", or PredefinedSplit(fold of each row)." if blocks.here else ".")
        )
    if n_folds < 2:
        raise ValueError(f"cv={cv!r}: give at least two folds.")
    if rarer < n_folds:
        raise ValueError(
            f"The rarer class has {rarer} rows, and cv={n_folds} folds need one each: give fewer "
            "folds or more rows."
        )
    if blocks.grouped:
        return FoldsOfGroups.over(blocks, n_folds)
    return StratifiedFolds.over(blocks, n_folds, of_weight)


def mean_of(scores: BlockVector, blocks: Blocks) -> float:
    """The weighted mean of scores over all rows."""
    scores = scores.on(blocks)
    if not blocks.weighted:
        return float(scores.mean())
    total = blocks.run(Job.of("mean", _weighted_sum, [scores]))
    return float(total) / sum(blocks.totals)


def rarer_rows_of(blocks: Blocks) -> float:
    """As `_cross_fit.rarer_rows`: the shares of a class sum to one, so Kish's number of its rows is
    one over the sum of their squares."""
    if not blocks.weighted:
        return float(min(np.sum(blocks.counts, axis=0).tolist()))
    return 1 / max(blocks.run(Job.of("squared-shares", _squared_shares, ())))


def gathered(scores: BlockVector) -> tuple[Rows, Array]:
    """All rows with weight as metrics see them, and their scores."""
    blocks = scores.blocks
    weight = blocks.weight.gather() if blocks.weighted else None
    rows = Rows.of(blocks.positive.gather(), weight)
    return rows, rows.scores(scores.gather())


def _weighted_sum(shard: Shard, scores: Array) -> float:
    return float(scores.sum() if shard.weight is None else shard.weight @ scores)


def _squared_shares(shard: Shard) -> tuple[float, float]:
    share, positive = shard.share, shard.positive
    return float(share[~positive] @ share[~positive]), float(share[positive] @ share[positive])


def _numbers(folds: Folds, shard: Shard, zeros: Array) -> Array:
    return folds.of(shard).astype(np.float64)


def _means(shard: Shard, scores: Array) -> tuple[float, float]:
    positive, share = shard.positive, shard.share
    return float(share[positive] @ scores[positive]), float(share[~positive] @ scores[~positive])
