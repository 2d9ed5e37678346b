"""The loss over every pair of a batch, or of an epoch's scores, for PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from everypair.estimators.auc import LOSS_NAMES
from everypair.linalg.threads import own_threads
from everypair.pairs.pushed import check_push, pushed_point
from everypair.rows import Rows, groups_of
from everypair.within import GROUP_WEIGHTS, Groups

__all__ = ["PairLoss"]


class PairLoss(torch.nn.Module):  # type: ignore[misc]
    """The mean of a loss over every positive–negative pair, exact and without a tensor of pairs.

        L(s) = sum_ij a_i b_j phi(s_i - s_j)

    over the positive rows i and the negative rows j of the scores that it is given, a batch or a
    whole epoch's; a and b are the weights, each class summing to one. Value and gradient take
    O(n) or O(n log n) time and O(n) memory, where a tensor of all differences takes n+ n-. With
    ``within`` in the call the pairs are those inside groups, as in `everypair.AUCClassifier`.

    Parameters
    ----------
    loss : {"logistic", "exponential", "square", "squared_hinge", "hinge", "sigmoid"}, \
            default="logistic"
        The loss phi of a pair's margin, as in `everypair.AUCClassifier`.
    push : float, default=1
        Power p >= 1 of `everypair.boosting.pair_objective`: the p-norm over the negative rows
        instead of their mean. Logistic loss only, and not with ``within``.
    within_weight : {"pairs", "rows", "equal"}, default="pairs"
        How much a group of ``within`` weighs: as its pairs, as its rows, or each group the same.

    See Also
    --------
    everypair.boosting.pair_objective : The same loss for boosted trees.

    Notes
    -----
    The sums run on the processor in float64; scores on another device are copied there and the
    gradient back. The gradient can be taken once, not twice. A batch without any pair, for
    instance of one class only, gives a loss of zero with zero gradient.

    Examples
    --------
    >>> import torch
    >>> from everypair.torch import PairLoss
    >>> scores = torch.tensor([0.5, -0.2, 0.1], requires_grad=True)
    >>> loss = PairLoss()(scores, torch.tensor([1, 0, 0]))
    >>> loss.backward()
    >>> print(f"{loss.item():.4f}", scores.grad.numpy().round(3))
    0.4581 [-0.367  0.166  0.201]
    """

    def __init__(self, loss: str = "logistic", push: float = 1, within_weight: str = "pairs"):
        super().__init__()
        if within_weight not in GROUP_WEIGHTS:
            raise ValueError(
                f"within_weight={within_weight!r} is not known: use one of {GROUP_WEIGHTS}."
            )
        self.loss, self.push = loss, check_push(loss, push, LOSS_NAMES)
        self.within_weight = within_weight

    def extra_repr(self) -> str:
        return f"loss={self.loss!r}, push={self.push:g}, within_weight={self.within_weight!r}"

    def forward(self, scores: Any, target: Any, weight: Any = None, within: Any = None) -> Any:
        """The loss of these scores.

        Parameters
        ----------
        scores : tensor of shape (n_rows,) or (n_rows, 1)
            Scores, float32 or float64: the higher, the more likely positive.
        target : tensor of the same shape
            1 or True where a row is positive; all others 0 (or False), or all others -1.
        weight : tensor of the same shape, default=None
            Weights >= 0; None means 1 for every row.
        within : tensor or array of the same shape, default=None
            The group of each row; pairs are made inside a group only.

        Returns
        -------
        tensor of shape ()
            The loss, with the dtype and on the device of the scores.
        """
        for name, values in (("scores", scores), ("target", target)):
            if not isinstance(values, torch.Tensor):
                raise TypeError(
                    f"{name} is a {type(values).__name__}, not a tensor: pass "
                    f"torch.as_tensor({name})."
                )
        if not scores.is_floating_point():
            raise TypeError(f"scores has the dtype {scores.dtype}: give scores.float().")
        if scores.numel() != target.numel():
            raise ValueError(
                f"scores has {scores.numel()} values and target has {target.numel()}: give one "
                "of each per row."
            )
        check_push(self.loss, self.push, LOSS_NAMES, within)
        return _PairSum.apply(scores.reshape(-1), target, weight, within, self)


class _PairSum(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, scores: Any, target: Any, weight: Any, within: Any, of: PairLoss) -> Any:
        positive = _positive(_on_cpu(target))
        weights = None if weight is None else _on_cpu(weight)
        groups = groups_of(_on_cpu(within), of.within_weight, positive.size)
        gradient = np.zeros(positive.size)
        value = 0.0
        if _has_pairs(positive, weights, groups):
            rows = Rows.uncut(positive, weights, groups)
            values = _on_cpu(scores).astype(np.float64)
            with own_threads():
                point = pushed_point(of.loss, rows, values, of.push)
                value = point.value()
                if scores.requires_grad:
                    gradient = point.gradient()
        ctx.save_for_backward(torch.as_tensor(gradient, dtype=scores.dtype, device=scores.device))
        return scores.new_tensor(value)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, out: Any) -> Any:
        (gradient,) = ctx.saved_tensors
        return out * gradient, None, None, None, None


def _positive(target: Any) -> Any:
    positive = target == 1
    others = target[~positive]
    if not (np.all(others == 0) or np.all(others == -1)):
        found = np.unique(target)
        values = ", ".join(f"{value:g}" for value in found[:5]) + ", ..." * (found.size > 5)
        raise ValueError(
            f"target has the values {values}: give 1 for positive rows and 0 (or -1) for others."
        )
    return positive


def _has_pairs(positive: Any, weight: Any, groups: Groups | None) -> bool:
    """Whether rows of both classes that weigh anything share a group."""
    codes = np.zeros(positive.size, np.intp) if groups is None else groups.codes
    if weight is not None and groups is not None:
        positive, codes = positive[weight > 0], codes[weight > 0]
    return bool(np.intersect1d(codes[positive], codes[~positive]).size)


def _on_cpu(values: Any) -> Any:
    if not isinstance(values, torch.Tensor):
        return None if values is None else np.asarray(values).reshape(-1)
    return values.detach().reshape(-1).cpu().numpy()
