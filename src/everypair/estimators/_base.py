"""What every binary classifier of the library shares with scikit-learn and with the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, update_wrapper, wraps
from numbers import Real
from types import MethodType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_array
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from everypair.blocks.source import RowBlocks
from everypair.checks import distinct_labels
from everypair.described import fill_in_class
from everypair.estimators._calibration import CONSTRAINTS, Calibrator, calibrated, method_for
from everypair.estimators._shared_docs import TEXTS
from everypair.linalg.matrix import canonical, summed
from everypair.metrics.thresholds import check_rule, cut_by
from everypair.rows import Rows
from everypair.within import GROUP_WEIGHTS

if TYPE_CHECKING:
    from everypair.estimators._cross_fit import OutOfFold
    from everypair.estimators._search import Fold
    from everypair.estimators._training import Training
    from everypair.linalg.blocks import Blocks

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]

CUTS: dict[str, Any] = {
    "threshold": [StrOptions({"balanced", "accuracy", "f1", "midpoint"}), dict, Real],
    **CONSTRAINTS,
    "cv": ["cv_object"],
}
"""What scikit-learn checks of the parameters that turn scores into decisions and probabilities;
`check_rule` checks the rest of ``threshold``."""

OWN_CUTS = CUTS | {"threshold": [*CUTS["threshold"], None]}
"""The same where None is a cut of the method's own."""


class IfCalibrated:
    """A method that is there if ``calibration`` is set; the error says so where it is not."""

    def __init__(self, method: Callable[..., Any]):
        self.method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self.method
        if model.calibration is None:
            raise AttributeError(
                f"{type(model).__name__} has {self.method.__name__} only with a calibration: set "
                "calibration='auto' and fit again."
            )
        return MethodType(self.method, model)


WITHIN_WEIGHTS: list[Any] = [StrOptions(set(GROUP_WEIGHTS))]


class BinaryRanker(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Two classes, a score that ranks, a threshold, and probabilities where they are asked for.

    The second of the sorted labels is the positive one. `decision_function` is the score
    less the threshold; `predict` says positive where it is above zero. Threshold and probabilities
    come from out-of-fold scores (`_cross_fits` says where training scores do as well).
    """

    classes_: NDArray[Any]
    n_groups_without_pairs_: int
    threshold: Any
    within_weight: str
    _takes_blocks: ClassVar[bool] = False
    calibration: str | None
    prior: float | None
    cv: Any
    calibrator_: Calibrator

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        fill_in_class(cls, TEXTS)
        if "fit" in vars(cls):
            cls.fit = whole_or_not_at_all(cls.fit)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    def _validate_fit(
        self, X: Any, y: Any, sample_weight: Any, **checks: Any
    ) -> tuple[Any, NDArray[np.bool_], Array | None]:
        """X as it came (float32 or 64, dense, CSR or CSC), which rows are positive, weights.

        ``checks`` go to scikit-learn's `validate_data`.
        """
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in (np.float64, np.float32):
            from everypair.linalg.vectors import all_finite

            # On all threads. What is not finite scikit-learn finds again, and says where.
            if all_finite(X):
                checks = {"ensure_all_finite": False, **checks}
        X, y = validate_data(
            self, X, y, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32], **checks
        )
        X, positive = summed(X), self._encode_labels(y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        return X, positive, sample_weight

    def _pair_up(
        self, positive: NDArray[np.bool_], sample_weight: Array | None, within: Any
    ) -> Rows:
        """The pairs of these rows, inside their groups; sets ``n_groups_without_pairs_``."""
        pairs = Rows.uncut(positive, sample_weight, within, self.within_weight)
        self.n_groups_without_pairs_ = pairs.n_groups_without_pairs
        return pairs

    def _training(
        self, X: Any, y: Any, sample_weight: Any, loss: str, groups: Any, within: Any
    ) -> Training:
        """The rows of a fit, from arrays or from a source of blocks."""
        from everypair.estimators._block_training import BlockTraining
        from everypair.estimators._training import ArrayTraining

        blocks = self._blocks_of(X, y, sample_weight, groups, within)
        if blocks is None:
            return ArrayTraining(self, *self._validate_fit(X, y, sample_weight), groups, within)
        return BlockTraining(self, blocks, loss)

    def _blocks_of(
        self, X: Any, y: Any, sample_weight: Any, groups: Any = None, within: Any = None
    ) -> Blocks | None:
        """The engine of rows in blocks, whose labels and columns the model takes over."""
        if not isinstance(X, RowBlocks):
            return None
        for given, name in ((groups, "groups"), (within, "within")):
            if given is not None:
                raise ValueError(f"{name} needs arrays: leave it out for rows in blocks.")
        for given, name in ((y, "y"), (sample_weight, "sample_weight")):
            if given is not None:
                raise ValueError(
                    f"{name} was given beside {type(X).__name__}, which has it already: leave it "
                    "out."
                )
        self.__dict__.pop("calibrator_", None)  # of an earlier fit
        engine, self.classes_ = X.engine(type(self).__name__)
        self._take_columns(X.n_features_in_, X.feature_names_in_)
        return engine

    def _take_columns(self, n_features: int, names: NDArray[Any] | None) -> None:
        self.n_features_in_ = n_features
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _encode_labels(self, y: NDArray[Any]) -> NDArray[np.bool_]:
        if y.dtype.kind not in "biuf":
            check_classification_targets(y)  # says so where labels cannot be sorted
        self.classes_ = distinct_labels(y)
        self.__dict__.pop("calibrator_", None)  # of an earlier fit
        two = self.classes_.size == 2
        if y.dtype.kind == "f" or (y.dtype.kind in "biu" and not two):  # two whole numbers will do
            check_classification_targets(self.classes_ if two else y)
        name = type(self).__name__
        if self.classes_.size == 1:
            raise ValueError(
                f"{name} needs two classes, but y has only one class: {self.classes_[0]}."
            )
        if self.classes_.size > 2:
            kind = type_of_target(y, input_name="y")
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {kind}: y has "
                f"{self.classes_.size} classes. "
                f"Wrap {name} in sklearn.multiclass.OneVsRestClassifier."
            )
        return np.asarray(y == self.classes_[1])

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.threshold is not None:  # None: a cut of the method's own
            check_rule(self.threshold)
        if self.prior is not None and self.calibration is None:
            raise ValueError(
                f"prior={self.prior!r} is for probabilities, and calibration=None makes none: set "
                "calibration='auto'."
            )

    def _needs_held_out(self, own: Any = None) -> bool:
        """Is there a cut to choose, or a calibration to fit?"""
        rule = own if self.threshold is None else self.threshold
        return self.calibration is not None or not isinstance(rule, Real)

    @property
    def _guarantees(self) -> bool:
        """Does the threshold promise something for new rows?"""
        return isinstance(self.threshold, Mapping) and "guarantee" in self.threshold

    def _cross_fits(
        self, X: Any, positive: Bools, sample_weight: Array | None, own: Any = None
    ) -> bool:
        """Do models of folds score the rows for the cut, or for the calibration?

        They do where ``cv``, a calibration or a guarantee asks for them, and wherever the cut is
        the best one on the rows: on training scores it is optimistic. The midpoint is no such
        choice, the default "balanced" asks for no rate and stays the price of one fit, and a
        linear score of many rows per column is hardly optimistic.
        """
        from everypair.estimators._cross_fit import rarer_rows

        rarer = partial(rarer_rows, positive, sample_weight)
        return self._wants_folds(self._n_coefficients(X), rarer, own)

    def _wants_folds(self, n_columns: float, rarer: Callable[[], float], own: Any = None) -> bool:
        """The same from counts, wherever the rows are."""
        from everypair.estimators._cross_fit import ROWS_PER_COLUMN

        if self.calibration is not None or self._guarantees:
            return True
        rule = own if self.threshold is None else self.threshold
        if isinstance(rule, Real) or self.cv is not None:
            return not isinstance(rule, Real)
        return rule not in ("midpoint", "balanced") and rarer() < ROWS_PER_COLUMN * n_columns

    def _n_coefficients(self, X: Any) -> float:
        """Of a score that is linear in them; infinite for any other."""
        return np.inf

    def _cut(
        self,
        X: Any,
        positive: Bools,
        scores: Array,
        sample_weight: Array | None,
        groups: ArrayLike | None,
        own: Any = None,
        within: ArrayLike | None = None,
        in_folds: Callable[[list[Fold]], OutOfFold] | None = None,
    ) -> float:
        """The cut of these scores of the training rows, or of those that `_cross_fits` wants.

        ``in_folds`` makes out-of-fold scores faster than fits of clones do.
        """
        held_out = None
        if self._cross_fits(X, positive, sample_weight, own):
            from everypair.estimators._cross_fit import cross_fit, folds_for

            folds = folds_for(self, positive, sample_weight, groups, within)
            if folds is not None and in_folds is not None:
                held_out = in_folds(folds)
            elif folds is not None:
                held_out = cross_fit(self._plain(), X, positive, sample_weight, folds, within)
        return self._choose_threshold(positive, scores, sample_weight, held_out, own, groups)

    def _plain(self) -> BinaryRanker:
        """The same method without cut, calibration and messages."""
        quiet = {"verbose": 0} if hasattr(self, "verbose") else {}
        plain = clone(self).set_params(
            threshold=0.0, calibration=None, prior=None, cv=None, **quiet
        )
        return plain

    def _choose_threshold(
        self,
        positive: Bools,
        scores: Array,
        sample_weight: Array | None,
        held_out: OutOfFold | None = None,
        own: Any = None,
        groups: ArrayLike | None = None,
    ) -> float:
        """The cut of these scores, and ``calibrator_`` where it is asked for.

        ``own`` is what ``threshold=None`` means: a cut of these scores, or a function of rows and
        scores that finds one. Rows of one of the ``groups`` depend on each other, which a guarantee
        heeds.
        """
        level = 0.0
        if held_out is not None:
            level = held_out.level_beside(scores, sample_weight)
            positive, scores = positive[held_out.rows], held_out.scores
            if sample_weight is not None:
                sample_weight = sample_weight[held_out.rows]
            groups = None if groups is None else np.asarray(groups)[held_out.rows]
        rule = own if self.threshold is None else self.threshold
        if isinstance(rule, Real):
            cut = float(rule) - level
        else:
            rows = Rows.of(positive, sample_weight)
            kept = rows.scores(scores)
            cut = rule(rows, kept) if callable(rule) else cut_by(rule, rows, kept, groups=groups)
        if self.calibration is not None:
            counted = positive.size if sample_weight is None else np.count_nonzero(sample_weight)
            method = method_for(self.calibration, int(counted))
            self.calibrator_ = calibrated(method, scores - cut, positive, sample_weight, self.prior)
        return cut + level

    def _validate_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(
            self, X, reset=False, accept_sparse=["csr", "csc"], dtype=[np.float64, np.float32]
        )
        return canonical(X)

    def decision_function(self, X: Any) -> Array:
        """Scores less the threshold: the higher, the more likely of class ``classes_[1]``.

        Parameters
        ----------
        X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features), or `RowBlocks`
            Rows to score.

        Returns
        -------
        array of shape (n_rows,)
            One score per row, positive where `predict` says ``classes_[1]``.
        """
        if isinstance(X, RowBlocks):
            check_is_fitted(self)
            X.check_columns(self)
            return np.concatenate([self._scores(check_array(rows)) for _, rows in X.rows()])
        return self._scores(self._validate_predict(X))

    def _scores(self, X: Any) -> Array:
        """Scores of checked rows."""
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[Any]:
        """``classes_[1]`` where `decision_function` is above zero, else ``classes_[0]``.

        Parameters
        ----------
        X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features)
            Rows to classify.

        Returns
        -------
        array of shape (n_rows,)
            One label per row.
        """
        above = self.decision_function(X) > 0
        return self.classes_[above.astype(int)]

    @IfCalibrated
    def predict_proba(self, X: Any) -> Array:
        """Probabilities of the two classes; there if ``calibration`` is set.

        They rise with `decision_function`. `predict` cuts where ``threshold`` says, which is not
        a probability of one half.

        Parameters
        ----------
        X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features)
            Rows to score.

        Returns
        -------
        array of shape (n_rows, 2)
            Probabilities of ``classes_[0]`` and of ``classes_[1]``, between 0 and 1.
        """
        check_is_fitted(self, "calibrator_")
        return self.calibrator_.probabilities(self.decision_function(X))

    @IfCalibrated
    def predict_log_proba(self, X: Any) -> Array:
        """Logarithms of `predict_proba`; there if ``calibration`` is set.

        Parameters
        ----------
        X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features)
            Rows to score.

        Returns
        -------
        array of shape (n_rows, 2)
            Logarithms of the probabilities.
        """
        check_is_fitted(self, "calibrator_")
        return self.calibrator_.log_probabilities(self.decision_function(X))


def whole_or_not_at_all(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A fit that ends early, by an error or an interrupt, leaves the estimator as it was.

    Rows in blocks are refused here where they are not supported: they come without y, and Python
    itself would ask for it.
    """

    @wraps(fit)
    def guarded(self: Any, *args: Any, **options: Any) -> Any:
        rows, name = args[0] if args else options.get("X"), fit.__name__
        if isinstance(rows, RowBlocks) and not (self._takes_blocks and name == "fit"):
            raise ValueError(
                f"{type(self).__name__}.{name} needs arrays in memory and does not take "
                f"{type(rows).__name__}: for rows in blocks use fit of AUCClassifier(CV), AUCRLS, "
                "RankOpt(CV) or MeasureOpt(CV)."
            )
        before = dict(vars(self))
        try:
            return fit(self, *args, **options)
        except BaseException:
            self.__dict__ = before  # at once: a second interrupt finds the one or the other
            raise

    return guarded
