"""Fitting in chunks: the class moments of rows seen so far, and the model that they make."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from everypair.estimators._base import whole_or_not_at_all

if TYPE_CHECKING:
    from everypair.rls.moments import PairMoments


def _can_stream(model: MomentStream) -> bool:
    name = type(model).__name__
    if not model._streams:
        raise AttributeError(
            f"{name} takes all rows at once, because it cross-validates: use fit, or AUCRLS for "
            "rows in chunks."
        )
    if model.kernel != "linear" or model.form == "dual":
        raise AttributeError(
            f"{name} with kernel={model.kernel!r} and form={model.form!r} needs all training "
            "rows at once: use kernel='linear' and form='primal' for rows in chunks, or use fit."
        )
    if model.calibration is not None or model.cv is not None:
        raise AttributeError(
            f"calibration={model.calibration!r} and cv={model.cv!r} need every training row, and "
            "only class moments are kept: set both to None, or use fit."
        )
    if not isinstance(model.threshold, Real) and model.threshold != "midpoint":
        raise AttributeError(
            f"threshold={model.threshold!r} needs every training score, and only class moments "
            "are kept: use 'midpoint' or a number."
        )
    return True


class MomentStream:
    """`partial_fit` and `merge` of an estimator that is a function of `PairMoments`.

    The estimator brings ``_solve_primal(moments, alpha)``, which sets the fitted attributes,
    ``_checked(moments, X)``, which refuses what is not finite, and ``_trusted(alpha)``, which
    warns.
    """

    _streams: ClassVar[bool] = True
    _moments: PairMoments
    _solve_primal: Any
    _checked: Any
    _trusted: Any
    _encode_labels: Any
    _validate_params: Any
    classes_: NDArray[Any]
    n_features_in_: int
    intercept_: NDArray[np.float64]
    kernel: Any
    form: str
    alpha: float
    threshold: Any
    calibration: str | None
    cv: Any

    @available_if(_can_stream)  # type: ignore[untyped-decorator]
    @whole_or_not_at_all
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add these rows to all that came before, in `fit` or here; linear kernel only.

        The model is that of one `fit` on all rows, in any order of chunks. What is kept are the
        class moments: O(n_features^2), whatever the number of rows. Until both classes have been
        seen the coefficients are zero.

        Parameters
        ----------
        X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features)
            More training rows.
        y : array of shape (n_rows,)
            Their labels.
        classes : array of shape (2,), default=None
            The two labels; needed in the first call if its y has only one of them.
        sample_weight : array of shape (n_rows,), default=None
            Weights >= 0; None means 1 for every row.

        Returns
        -------
        self : object
            The model of all rows so far.
        """
        from everypair.linalg.matrix import as_matrix
        from everypair.linalg.threads import thread_limit
        from everypair.rls.moments import PairMoments

        self._validate_params()
        self._refuse_groups(self)
        first = not hasattr(self, "_moments")
        if first and hasattr(self, "dual_coef_"):
            raise ValueError(
                "This model was fitted in the dual form, which keeps no class moments: "
                "set form='primal' and fit again before partial_fit."
            )
        X, y = validate_data(
            self,
            X,
            y,
            reset=first,
            accept_sparse=["csr", "csc"],
            dtype=[np.float64, np.float32],
        )
        if first:
            labels = np.asarray(y if classes is None else classes)
            if classes is None and np.all(labels == labels[0]):
                raise ValueError(
                    f"The first chunk has only one class: {labels[0]}. Give both labels as "
                    "classes= in the first call."
                )
            self._encode_labels(labels)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(
                f"classes={classes!r} differ from those of the first call, {self.classes_}: give "
                "the same classes in every call."
            )
        positive = self._known_labels(y)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        with thread_limit():
            moments = self._checked(PairMoments.of(as_matrix(X), positive, weight), X)
        self._solve_primal(moments if first else self._moments + moments, float(self.alpha))
        if self.threshold != "midpoint":
            self.intercept_ = np.array([-float(self.threshold)])
        return self._trusted(float(self.alpha))

    @staticmethod
    def _refuse_groups(model: Any) -> None:
        if getattr(model, "_in_groups", False):
            raise ValueError(
                "This model was fitted with within, and moments inside groups do not add up over "
                "chunks: fit again without within first."
            )

    def _known_labels(self, y: ArrayLike) -> NDArray[np.bool_]:
        y = np.asarray(column_or_1d(y))
        positive = y == self.classes_[1]
        unknown = ~positive & (y != self.classes_[0])
        if np.any(unknown):
            raise ValueError(
                f"y has the label {y[unknown][0]}, which is not among classes={self.classes_}: "
                "give every label as classes= in the first call."
            )
        return np.asarray(positive)

    @available_if(_can_stream)  # type: ignore[untyped-decorator]
    def merge(self, other: Self) -> Self:
        """The model of this model's rows and the other's together, with the parameters of this one.

        Both must have been fitted in the primal form, with the same labels and features. Both are
        left as they are.

        Parameters
        ----------
        other : AUCRLS
            Another fitted model.

        Returns
        -------
        AUCRLS
            A new model.
        """
        if not isinstance(other, MomentStream):
            raise TypeError(
                f"A {type(other).__name__} cannot be merged: give a fitted {type(self).__name__}."
            )
        for model in (self, other):
            check_is_fitted(model)
            self._refuse_groups(model)
            if not hasattr(model, "_moments"):
                raise ValueError(
                    "A model fitted in the dual form keeps no class moments to merge: "
                    "fit with form='primal'."
                )
        if not np.array_equal(self.classes_, other.classes_):
            raise ValueError(
                f"The models have different labels, {self.classes_} and {other.classes_}: only "
                "models of the same labels can be merged."
            )
        if self.n_features_in_ != other.n_features_in_:
            raise ValueError(
                f"The models have {self.n_features_in_} and {other.n_features_in_} features: "
                "only models of the same features can be merged."
            )
        ours, theirs = (getattr(model, "feature_names_in_", None) for model in (self, other))
        if ours is not None and theirs is not None and not np.array_equal(ours, theirs):
            raise ValueError(
                f"The models have different feature names, {ours} and {theirs}: fit both on the "
                "same columns in the same order."
            )
        merged = clone(self)
        merged.classes_, merged.n_features_in_ = self.classes_, self.n_features_in_
        if ours is not None:
            merged.feature_names_in_ = ours
        merged._solve_primal(self._moments + other._moments, float(self.alpha))
        if self.threshold != "midpoint":
            merged.intercept_ = np.array([-float(self.threshold)])
        return merged._trusted(float(self.alpha))
