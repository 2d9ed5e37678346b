"""The loss over every pair of a batch, or of an epoch's scores, for PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from everypair.linalg.threads import own_threads
from everypair.pairs import pair_point
from everypair.pairs.pushed import PushedPoint
from everypair.rows import Rows

__all__ = ["PairLoss"]

LOSSES = ("logistic", "exponential", "square", "squared_hinge", "hinge", "sigmoid")


class PairLoss(torch.nn.Module):  # type: ignore[misc]
    """The mean of a loss over every positive–negative pair, exact and without a tensor of pairs.

        L(s) = sum_ij a_i b_j phi(s_i - s_j)

    over the positive rows i and the negative rows j of the scores that it is given, a batch or a
    whole epoch's; a and b are the weights, each class summing to one. Value and gradient take
    O(n) or O(n log n) time and O(n) memory, where a tensor of all differences takes n+ n-.

    Parameters
    ----------
    loss : {"logistic", "exponential", "square", "squared_hinge", "hinge", "sigmoid"}, \
            default="logistic"
        The loss phi of a pair's margin, as in `everypair.AUCClassifier`.
    push : float, default=1
        Power p >= 1 of `everypair.boosting.pair_objective`: the p-norm over the negative rows
        instead of their mean. Logistic loss only.

    See Also
    --------
    everypair.boosting.pair_objective : The same loss for boosted trees.

    Notes
    -----
    The sums run on the processor in float64; scores on another device are copied there and the
    gradient back. The gradient can be taken once, not twice. Scores of a batch that has only one
    class give a loss of zero with zero gradient, as there is no pair.

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

    def __init__(self, loss: str = "logistic", push: float = 1):
        super().__init__()
        if loss not in LOSSES:
            raise ValueError(
                f"loss={loss!r} is not known: use one of {', '.join(map(repr, LOSSES))}."
            )
        if not 1 <= push < np.inf:
            raise ValueError(f"push={push!r} is not a power: use a number >= 1.")
        if push > 1 and loss != "logistic":
            raise ValueError(f"push={push:g} needs loss='logistic', but loss is {loss!r}.")
        self.loss, self.push = loss, float(push)

    def extra_repr(self) -> str:
        return f"loss={self.loss!r}, push={self.push:g}"

    def forward(self, scores: Any, target: Any, weight: Any = None) -> Any:
        """The loss of these scores.

        Parameters
        ----------
        scores : tensor of shape (n_rows,) or (n_rows, 1)
            Scores, float32 or float64: the higher, the more likely positive.
        target : tensor of the same shape
            1 or True where a row is positive, else 0.
        weight : tensor of the same shape, default=None
            Weights >= 0; None means 1 for every row.

        Returns
        -------
        tensor of shape ()
            The loss, with the dtype and on the device of the scores.
        """
        if scores.numel() != target.numel():
            raise ValueError(
                f"scores has {scores.numel()} values and target {target.numel()}: one each per row."
            )
        return _PairSum.apply(scores.reshape(-1), target, weight, self.loss, self.push)


class _PairSum(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, scores: Any, target: Any, weight: Any, loss: str, push: float) -> Any:
        positive = _on_cpu(target) == 1
        gradient = np.zeros(positive.size)
        value = 0.0
        if 0 < np.count_nonzero(positive) < positive.size:
            rows = Rows.uncut(positive, None if weight is None else _on_cpu(weight))
            values = _on_cpu(scores).astype(np.float64)
            with own_threads():
                point: Any = pair_point(loss, rows, values)
                if push > 1:
                    point = PushedPoint(rows, values, push)
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


def _on_cpu(values: Any) -> Any:
    return values.detach().reshape(-1).cpu().numpy()
