"""The area under the ROC curve of scores on a Dask cluster, without a sort."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everypair.dask.engine import DaskBlocks
from everypair.linalg.block_histogram import Ranking
from everypair.linalg.blocks import ALL, BlockVector, Expression, Shard

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


def _scores(shard: Shard) -> Array:
    scores = shard.matrix().X[:, 0].astype(np.float64)
    if not np.all(np.isfinite(scores)):
        raise ValueError(f"y_score has NaN or infinite values in {shard.name}: give finite scores.")
    return scores
