"""The area under the ROC curve of scores on a Dask cluster, without a sort."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.dask.engine import DaskBlocks
from everypair.linalg.block_histogram import Ranking
from everypair.linalg.block_shard import ALL, Expression, Shard
from everypair.linalg.block_vector import BlockVector
from everypair.metrics.streamed import cut_of_ranking

if TYPE_CHECKING:
    from distributed import Client

Array = NDArray[np.float64]


class AreaInterval(NamedTuple):
    """An area under the ROC curve and the interval that surely holds it.

    Attributes
    ----------
    area : float
        Halfway between ``low`` and ``high``; where they are equal, the exact area.
    low : float
        The share of pairs that are in the right order for sure, ties counted half.
    high : float
        The same with all undecided pairs.
    n_rounds : int
        How often the scores were counted.

    See Also
    --------
    auc_score : Returns it.
    """

    area: float
    low: float
    high: float
    n_rounds: int


def auc_score(
    y_true: Any,
    y_score: Any,
    sample_weight: Any = None,
    *,
    width: float = 1e-4,
    client: Client | None = None,
) -> AreaInterval:
    """Area under the ROC curve, with an interval that holds it, from counts in boxes of scores.

    Pairs of rows in different boxes are decided; pairs in one box bound the error. The fullest
    boxes are split and counted again until the interval is as narrow as asked. Each round sends
    at most half a megabyte from each block.

    Parameters
    ----------
    y_true : dask.array or dask.dataframe.Series
        Two distinct labels; the second of the sorted ones is positive.
    y_score : dask.array or dask.dataframe.Series
        Scores, finite: the higher, the more likely positive.
    sample_weight : dask.array or dask.dataframe.Series, default=None
        Weights >= 0; None means 1 for every row.
    width : float, default=0.0001
        The interval is no wider than this; 0 gives the exact area, in more rounds.
    client : distributed.Client, default=None
        The cluster; None takes the client that was started last.

    Returns
    -------
    AreaInterval
        ``area``, ``low``, ``high`` and ``n_rounds``.

    See Also
    --------
    everypair.metrics.auc_score : The same for arrays.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from everypair.dask import auc_score
    >>> y, scores = da.from_array([0, 0, 1, 1]), da.from_array([0.1, 0.4, 0.35, 0.8])
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     auc_score(y, scores, width=0, client=client).area
    0.75
    """
    if not isinstance(width, Real) or not 0 <= width <= 1:
        raise ValueError(f"width={width!r}: use a number from 0, which is exact, to 1.")
    blocks = DaskBlocks(client, y_score, y_true, sample_weight, "auc_score")
    scores = BlockVector(blocks, Expression(_scores, reads=ALL))
    ranking = Ranking.of(scores)
    low, high = ranking.area(float(width))
    return AreaInterval(low + (high - low) / 2, low, high, ranking.n_rounds)


def threshold_for(
    y_true: Any,
    y_score: Any,
    rule: str | None = None,
    *,
    cost: tuple[float, float] | None = None,
    fpr: float | None = None,
    recall: float | None = None,
    sample_weight: Any = None,
    client: Client | None = None,
) -> float:
    """The threshold t for predicting positive where ``score > t``, from counts in boxes of scores.

    Boxes that may hold the best cut are split and counted again until one cut is left: the
    threshold is that of `everypair.metrics.threshold_for`, and no score leaves its worker.

    Parameters
    ----------
    y_true : dask.array or dask.dataframe.Series
        Two distinct labels; the second of the sorted ones is positive.
    y_score : dask.array or dask.dataframe.Series
        Scores, finite: the higher, the more likely positive.
    rule : {"accuracy", "balanced", "f1"}, default=None
        What to maximise.
    cost : tuple (c_fp, c_fn), default=None
        Minimise ``c_fp FP + c_fn FN``.
    fpr : float, default=None
        The lowest cut with a false positive rate of at most this.
    recall : float, default=None
        Of the cuts with a recall of at least this, the one of the highest precision.
    sample_weight : dask.array or dask.dataframe.Series, default=None
        Weights >= 0; None means 1 for every row.
    client : distributed.Client, default=None
        The cluster; None takes the client that was started last.

    Returns
    -------
    float
        The threshold.

    See Also
    --------
    everypair.metrics.threshold_for : The same for arrays, with more requirements and guarantees.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from everypair.dask import threshold_for
    >>> y, scores = da.from_array([0, 0, 1, 1]), da.from_array([0.1, 0.4, 0.35, 0.8])
    >>> with Client(processes=False, n_workers=1, dashboard_address=None) as client:
    ...     round(threshold_for(y, scores, recall=1.0, client=client), 3)
    0.225
    """
    given = {"rule": rule, "cost": cost, "fpr": fpr, "recall": recall}
    asked = {name: value for name, value in given.items() if value is not None}
    if len(asked) != 1 or rule == "midpoint":
        raise ValueError(
            f"threshold_for got {asked or 'nothing'}: give one of a rule ('accuracy', 'balanced', "
            "'f1'), cost=, fpr= and recall=."
        )
    blocks = DaskBlocks(client, y_score, y_true, sample_weight, "threshold_for")
    scores = BlockVector(blocks, Expression(_scores, reads=ALL))
    totals = blocks.totals[1], blocks.totals[0]
    return cut_of_ranking(rule if rule is not None else asked, Ranking.of(scores), totals)


def _scores(shard: Shard) -> Array:
    scores = shard.matrix().X[:, 0].astype(np.float64)
    if not np.all(np.isfinite(scores)):
        raise ValueError(f"y_score has NaN or infinite values in {shard.name}: give finite scores.")
    return scores
