"""What is compared: every method of the library, and what people use otherwise.

Each has a small grid that is searched inside the training rows. Methods whose cost grows faster
than the number of rows train on a sample of at most `max_rows` of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from everypair.app.comparison.additive_options import AdditiveSearch
from everypair.app.comparison.candidate import Candidate, Form, OwnSearch
from everypair.app.comparison.typed_measure import TypedMeasure

LINEAR_STRENGTHS = (1e-4, 1e-3, 1e-2, 1e-1)
ADDITIVE_STRENGTHS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
KERNEL_ROWS = 2000
"""Rows of a kernel method: its matrix and its pivots are of this size."""

FAST = ("auc", "rankboost", "roc-svm", "logistic", "boosting")
"""The models of ``--fast``: a cheap one of each form, beside logistic regression."""


def _auc(**settings: Any) -> Any:
    from everypair import AUCClassifier

    return AUCClassifier(**settings)


def _auc_hinge(**settings: Any) -> Any:
    return _auc(loss="squared_hinge", **settings)


def _auc_sigmoid(**settings: Any) -> Any:
    return _auc(loss="sigmoid", **settings)


def _auc_l1(**settings: Any) -> Any:
    from everypair import AUCClassifierCV

    # A gap of 1e-4 tells alphas apart.
    return AUCClassifierCV(penalty="l1", n_alphas=20, eps=1e-3, tol=1e-4, **settings)


L1_SEARCH = OwnSearch(
    "alpha",
    lambda model: (model.alphas_, model.cv_scores_),
    lambda alpha: _auc(penalty="l1", alpha=alpha, tol=1e-4),
)


def _auc_rls(**settings: Any) -> Any:
    from everypair import AUCRLSCV

    return AUCRLSCV(**settings)


def _auc_rls_at(**settings: Any) -> Any:
    from everypair import AUCRLS

    return AUCRLS(**settings)


RLS_SEARCH = OwnSearch("alpha", lambda model: (model.alphas_, model.cv_scores_), _auc_rls_at)


def _auc_rls_rbf(**settings: Any) -> Any:
    return _auc_rls_at(kernel="rbf", gamma="auto", **settings)


def _rankopt(**settings: Any) -> Any:
    from everypair import RankOptCV

    return RankOptCV(**settings)


def _rankopt_at(saturation: float) -> Any:
    from everypair import RankOpt
    from everypair.estimators.rankopt_cv import CV_SATURATIONS

    return RankOpt(saturation=[share for share in CV_SATURATIONS if share <= saturation])


RANKOPT_SEARCH = OwnSearch(
    "saturation", lambda model: (model.saturations_, model.cv_scores_), _rankopt_at
)


MEASURE_OPT = "measure-opt"
NO_CLIMB = "none"
NEEDS_MEASURE = (
    "measure-opt needs a measure, such as --measure f1: for the AUC it would be rankopt."
)
BOOSTED_PAIRS = "boosting-pairs"
MOST_ROUNDS = 300
NEEDS_LIBRARY = (
    "boosting-pairs needs LightGBM or XGBoost, and neither is installed: "
    "pip install 'everypair[boost]'."
)


@dataclass(frozen=True)
class _MeasureSearch(OwnSearch):
    """Penalty of the start and radii of the climb, such as ``"0.35 0.8"``; none is the start."""

    takes_folds: ClassVar[bool] = True

    def chosen(self, model: Any) -> dict[str, Any]:
        climbed = " ".join(map(repr, model.saturation_))
        return {"alpha": float(model.alpha_), "saturation": climbed or NO_CLIMB}

    def knows(self, settings: Any) -> bool:
        return (
            isinstance(settings, dict)
            and list(settings) == ["alpha", "saturation"]
            and type(settings["alpha"]) in (int, float)
            and 0 < settings["alpha"] < np.inf
            and isinstance(settings["saturation"], str)
            and re.fullmatch(rf"{NO_CLIMB}|0\.\d+( 0\.\d+)*", settings["saturation"]) is not None
        )


def measure_opt(measure: TypedMeasure) -> Candidate:
    """The model that is trained on the measure itself."""

    def build(**settings: Any) -> Any:
        from everypair import MeasureOptCV

        return MeasureOptCV(measure.name, **measure.options, **settings)

    def at(alpha: float, saturation: str, cv: Any) -> Any:
        from everypair.estimators.measure_opt_cv import SATURATIONS

        # The cut comes from folds. On the same folds the choice is the same: this climb, or the
        # start where no climb was surely better.
        climbed = saturation != NO_CLIMB
        climbs = [[float(radius) for radius in saturation.split()]] if climbed else SATURATIONS
        return build(alphas=[alpha], saturation=climbs, cv=cv)

    search = _MeasureSearch("alpha", _no_areas, at, by_measure=True)
    summary = f"climb of the measure itself ({measure.label})"
    return Candidate(MEASURE_OPT, "everypair", "linear", summary, build, own=search)


def _no_areas(model: Any) -> Any:
    raise NotImplementedError("it is judged by its measure, not by the AUC of one fold.")


def _rankboost(**settings: Any) -> Any:
    from everypair import RankBoost

    return RankBoost(**settings)


def _additive(**settings: Any) -> Any:
    from everypair import AUCAdditiveCV

    return AUCAdditiveCV(alphas=ADDITIVE_STRENGTHS, tol=1e-4, **settings)


def _additive_at(**settings: Any) -> Any:
    from everypair import AUCAdditive

    return AUCAdditive(tol=1e-4, **settings)


def _directed_weights(signs: NDArray[np.int8]) -> dict[str, Any]:
    return {"bounds": (np.where(signs > 0, 0.0, -np.inf), np.where(signs < 0, 0.0, np.inf))}


def _directed_curves(signs: NDArray[np.int8]) -> dict[str, Any]:
    words = {1: "increasing", -1: "decreasing"}
    return {"constraints": {f"x{k}": words[int(signs[k])] for k in np.flatnonzero(signs)}}


ADDITIVE_SEARCH = AdditiveSearch(
    "alpha", lambda model: (model.alphas_, model.cv_scores_), _additive_at
)


def _cpauc(**settings: Any) -> Any:
    from everypair import CPAUC

    return CPAUC(n_clusters=100, tol=1e-3, random_state=0, **settings)


def _rocsvm(**settings: Any) -> Any:
    from everypair import ROCSVM

    return ROCSVM(tol=1e-2, max_rank=100, **settings)


def _two_norm(**settings: Any) -> Any:
    from everypair import TwoNormSVM

    return TwoNormSVM(tol=1e-4, **settings)


def _svm_roc(**settings: Any) -> Any:
    from everypair import MeasureSVM

    return MeasureSVM("roc_area", **settings)


def _svm_f1(**settings: Any) -> Any:
    from everypair import MeasureSVM

    return MeasureSVM("f1", tol=1e-2, **settings)


def _logistic(**settings: Any) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000, **settings)


def _logistic_balanced(**settings: Any) -> Any:
    return _logistic(class_weight="balanced", **settings)


def _linear_svm(**settings: Any) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(dual="auto", max_iter=5000, random_state=0, **settings)


def _boosting(**settings: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0, **settings)


def _boosting_pairs(**settings: Any) -> Any:
    from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

    from everypair.boosting import AUCBoostingClassifier

    library = next(name for name in ("lightgbm", "xgboost") if find_spec(name) is not None)
    # The application makes its own cut, so that of the model costs no fits of folds.
    given = {"max_rounds": MOST_ROUNDS, "patience": 20, "threshold": "balanced", **settings}
    return AUCBoostingClassifier(
        library, learning_rate=0.1, random_state=0,
        # As many as `boosting` has: one on small tables (`search.threads_for`).
        n_jobs=_openmp_effective_n_threads(), **given,
    )  # fmt: skip


def _boosting_pairs_at(n_rounds: float, **settings: Any) -> Any:
    return _boosting_pairs(max_rounds=int(n_rounds), patience=None, **settings)


def _areas_by_rounds(model: Any) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Of all rounds: a fold that has stopped goes on with its last value, as inside the model."""
    values = model.cv_scores_
    unseen = np.full(MOST_ROUNDS - values.size, values[-1])
    return 1.0 + np.arange(MOST_ROUNDS), np.concatenate([values, unseen])


BOOSTING_SEARCH = OwnSearch("n_rounds", _areas_by_rounds, _boosting_pairs_at)


def boosting_pairs(measure: TypedMeasure) -> Candidate:
    """`boosting-pairs` with rounds chosen by the measure."""

    def build(**settings: Any) -> Any:
        return _boosting_pairs(measure={"measure": measure.name, **measure.options}, **settings)

    def at(n_rounds: float, **settings: Any) -> Any:
        return build(max_rounds=int(n_rounds), patience=None, **settings)

    own = replace(BOOSTING_SEARCH, build=at, by_measure=True)
    return replace(CANDIDATES[BOOSTED_PAIRS], build=build, own=own)


def _directed_trees(signs: NDArray[np.int8]) -> dict[str, Any]:
    return {"params": {"monotone_constraints": tuple(signs.tolist())}}


CANDIDATES = {
    candidate.name: candidate
    for candidate in (
        Candidate(
            "auc", "everypair", "linear", "logistic loss over every pair",
            _auc, {"alpha": LINEAR_STRENGTHS}, directed=_directed_weights,
        ),
        Candidate(
            "auc-hinge", "everypair", "linear", "squared hinge over every pair",
            _auc_hinge, {"alpha": LINEAR_STRENGTHS},
        ),
        Candidate(
            "auc-sigmoid", "everypair", "linear", "sigmoid over every pair (closest to AUC itself)",
            _auc_sigmoid, {"alpha": (1e-3, 1e-2, 1e-1)},
        ),
        Candidate(
            "auc-l1", "everypair", "few features", "logistic loss over every pair, few features",
            _auc_l1, own=L1_SEARCH,
        ),
        Candidate(
            "auc-rls", "everypair", "linear", "least squares over every pair",
            _auc_rls, own=RLS_SEARCH,
        ),
        Candidate(
            "auc-rls-rbf", "everypair", "kernel", "least squares over every pair, Gaussian kernel",
            _auc_rls_rbf, {"alpha": (2e-5, 2e-4, 2e-3, 2e-2, 2e-1)}, max_rows=KERNEL_ROWS,
        ),
        Candidate(
            "rankopt", "everypair", "linear", "direct ascent of the AUC on the sphere",
            _rankopt, own=RANKOPT_SEARCH,
        ),
        Candidate(
            "rankboost", "everypair", "additive", "decision stumps boosted on every pair",
            _rankboost, {"n_estimators": (50, 200)}, max_rows=100_000, sparse=False,
        ),
        Candidate(
            "additive", "everypair", "additive", "a curve per column, over every pair",
            _additive, sparse=False, own=ADDITIVE_SEARCH, directed=_directed_curves,
        ),
        Candidate(
            # "linear": with 500 rows of a table it is not the simplest model of that table.
            "cpauc", "everypair", "linear", "logistic loss on clusters of pairs",
            _cpauc, {"alpha": (1e-2, 1e-1)}, max_rows=500, weights=False, sparse=False,
        ),
        Candidate(
            "roc-svm", "everypair", "kernel", "hinge over every pair, Gaussian kernel",
            _rocsvm, {"C": (0.1, 10.0)}, max_rows=KERNEL_ROWS,
        ),
        Candidate(
            "two-norm-svm", "everypair", "kernel", "SVM with squared slacks, Gaussian kernel",
            _two_norm, {"C": (0.1, 1.0, 10.0)}, max_rows=KERNEL_ROWS,
        ),
        Candidate(
            "svm-roc-area", "everypair", "linear", "SVM trained on ROC area",
            _svm_roc, {"C": (1e-5, 1e-4, 1e-3)}, max_rows=100_000, weights=False,
        ),
        Candidate(
            "svm-f1", "everypair", "linear", "SVM trained on F1",
            _svm_f1, {"C": (1e-4, 1e-3, 1e-2)}, max_rows=100_000, weights=False,
        ),
        Candidate(
            "logistic", "baseline", "linear", "logistic regression",
            _logistic, {"C": (0.01, 0.1, 1.0, 10.0)},
        ),
        Candidate(
            "logistic-balanced", "baseline", "linear",
                "logistic regression, classes weighted equally",
            _logistic_balanced, {"C": (0.01, 0.1, 1.0, 10.0)},
        ),
        Candidate(
            "linear-svm", "baseline", "linear", "linear SVM",
            _linear_svm, {"C": (0.001, 0.01, 0.1, 1.0)},
        ),
        Candidate(
            "boosting", "baseline", "trees", "gradient-boosted trees",
            _boosting, {"max_leaf_nodes": (6, 31)}, sparse=False,
            directed=lambda signs: {"monotonic_cst": signs.tolist()},
        ),
    )
}  # fmt: skip
if find_spec("lightgbm") is not None or find_spec("xgboost") is not None:
    CANDIDATES[BOOSTED_PAIRS] = Candidate(
        BOOSTED_PAIRS, "everypair", "trees", "boosted trees, logistic loss over every pair",
        _boosting_pairs, own=BOOSTING_SEARCH, directed=_directed_trees,
    )  # fmt: skip


def catalogue(measure: TypedMeasure | None = None) -> dict[str, Candidate]:
    """Every model by name; with a measure, the one trained on it as well, and rounds by it."""
    if measure is None:
        return dict(CANDIDATES)
    known = {MEASURE_OPT: measure_opt(measure), **CANDIDATES}
    if BOOSTED_PAIRS in known:
        known[BOOSTED_PAIRS] = boosting_pairs(measure)
    return known


def form_of(name: str) -> Form:
    return "linear" if name == MEASURE_OPT else CANDIDATES[name].form


def fast_models(measure: TypedMeasure | None = None) -> list[str]:
    """The models of ``--fast``."""
    return [*([] if measure is None else [MEASURE_OPT]), *FAST]


def candidates_of(
    names: Sequence[str] | None, measure: TypedMeasure | None = None
) -> list[Candidate]:
    """All of them, or those named: ``everypair`` and ``baselines`` name the two groups."""
    known = catalogue(measure)
    if not names:
        return list(known.values())
    chosen: dict[str, Candidate] = {}
    for name in names:
        if name in ("everypair", "baselines"):
            kind = name.removesuffix("s")
            chosen |= {key: c for key, c in known.items() if c.kind == kind}
        elif name in known:
            chosen[name] = known[name]
        else:
            unmet = {MEASURE_OPT: NEEDS_MEASURE, BOOSTED_PAIRS: NEEDS_LIBRARY}
            raise ValueError(
                unmet.get(name)
                or f"there is no model {name!r}: choose among {', '.join(known)}, "
                "or the groups everypair and baselines."
            )
    return list(chosen.values())
