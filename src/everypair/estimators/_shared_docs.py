"""Parameters that several estimators have, described once (`everypair.described`)."""

from __future__ import annotations

PARAMETERS = {
    "kernel": '''
kernel : str or callable, default={kernel}
    ``"linear"``, ``"rbf"``, ``"poly"``, ``"cosine"`` or any other name of
    `sklearn.metrics.pairwise.pairwise_kernels`; ``"precomputed"``, where X is the kernel
    matrix; or a function that returns the matrix of k(x, z) for two blocks of rows.
gamma : {"scale", "auto"} or float, default={gamma}
    Of the kernels that have it: ``"scale"`` is 1 / (n_features * variance of X), with each row
    counted by its weight; ``"auto"`` is 1 / n_features.
degree : float, default={degree}
    Of the polynomial kernel.
coef0 : float, default={coef0}
    Constant of the polynomial and sigmoid kernels.
''',
    "low_rank": '''
kernel_tol : float, default={kernel_tol}
    The function is restricted to the span of some training rows (pivots). There are enough
    of them to leave out at most this share of the kernel matrix' trace, up to ``max_rank``.
max_rank : "auto", int or None, default={max_rank}
    Largest number of pivots. ``"auto"``: 7 sqrt(n_rows), at least 600 and at most 1000, fewer for
    more than half a million rows. None: as many as ``kernel_tol`` needs and memory holds.
''',
    "threshold": '''
threshold : {"balanced", "accuracy", "f1", "midpoint"}, dict or float, default={threshold}
    Where `predict` cuts the scores; it sets ``intercept_``. A rule chooses the cut by out-of-fold
    scores (``cv``). A dict holds arguments of `everypair.metrics.threshold_for`:
    ``{"fpr": 0.05}``, ``{"precision": 0.5, "guarantee": 0.9}``, ``{"cost": (c_fp, c_fn)}``; a
    float is the cut, and costs no fits of folds.
''',
    "calibration": '''
calibration : {"auto", "intercept", "sigmoid", "beta", "isotonic"} or None, default={calibration}
    How `predict_proba` turns scores into probabilities; None: there is no `predict_proba`. The map
    is fitted to out-of-fold scores. ``"auto"`` chooses by the number of rows: see
    `docs/probabilities.md`.
prior : float or None, default={prior}
    Share of positives among the rows to be scored, if it differs from that of the training rows
    (for example because negatives were sampled). It changes the probabilities, but no score and no
    label. Needs a ``calibration``.
''',
    "cv": '''
cv : int, splitter, iterable or None, default={cv}
    Folds whose models score the rows they have not seen; threshold and calibration are made from
    these scores. None: five stratified folds. Without a calibration or a guarantee, None fits no
    folds for ``"balanced"`` and ``"midpoint"``, where training scores cut nearly as well, for a
    linear score with at least 50 rows of the rarer class per column, and for too few rows.
''',
    "within_weight": '''
within_weight : {"pairs", "rows", "equal"}, default={within_weight}
    How the groups of ``within`` are weighted: by their pairs, by their rows, or all equally. The
    weights of the groups that have a pair sum to one. No effect without ``within``.
''',
    "verbose_steps": '''
verbose : int, default={verbose}
    1 prints one line per step.
''',
    "n_jobs": '''
n_jobs : int or None, default={n_jobs}
    Threads that share the folds; None is 1, -1 all cores. The result does not depend on it.
''',
}  # fmt: skip

ATTRIBUTES = {
    "fitted": """
classes_ : array of shape (2,)
    The two labels, sorted; the second is the positive one.
n_features_in_ : int
    Number of features.
feature_names_in_ : array of shape (n_features_in_,)
    Names of the features, if X was a data frame with names of type str.
calibrator_ : object
    The map from decisions to probabilities, if ``calibration`` is set.
""",
    "linear": """
coef_ : array of shape (1, n_features)
    Coefficients of the score ``X @ coef_[0] + intercept_``.
intercept_ : array of shape (1,)
    Minus the threshold.
""",
    "expansion": """
coef_ : array of shape (1, n_features)
    Linear kernel only.
dual_coef_ : array of shape (1, n_support)
    The score is ``sum_r dual_coef_r k(x, x_r) + intercept_`` over the rows ``support_``.
support_ : array of shape (n_support,)
    Row numbers of the training rows in that sum.
kernel_left_out_ : float
    Share of the kernel matrix' trace that the span of ``support_`` leaves out.
intercept_ : array of shape (1,)
    Minus the threshold.
""",
    "without_pairs": """
n_groups_without_pairs_ : int
    Groups of ``within`` that lack one of the classes: they have no pair and do not count.
""",
    "n_passes": """
n_passes_ : int
    Passes over the rows of X; set where X came in blocks.
""",
    "train_score": """
train_score_ : float
    Exact AUC of the training scores, ties counted half; inside the groups of ``within``.
""",
    "cv_scores": """
cv_scores_ : array of shape (n_candidates,)
    AUC of the held-out rows, one value for each candidate; the choice is made by it.
cv_fold_scores_ : array of shape (n_candidates, n_folds)
    The same in each fold.
best_score_ : float
    ``cv_scores_`` of the chosen candidate.
""",
}

FIT = {
    "rows": """
X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features)
    Training rows.
y : array of shape (n_rows,)
    Two distinct labels.
""",
    "rows_or_blocks": """
X : array, data frame, CSR/CSC matrix of shape (n_rows, n_features), or `RowBlocks`
    Training rows. `everypair.blocks.ParquetRows` and `everypair.blocks.ArrayRows` stay on disk
    and are read block by block, again at each pass.
y : array of shape (n_rows,), default=None
    Two distinct labels; None where X comes in blocks, which have them.
""",
    "kernel_rows": """
X : array, data frame or CSR/CSC matrix of shape (n_rows, n_features)
    Training rows; the kernel matrix for ``kernel="precomputed"``.
y : array of shape (n_rows,)
    Two distinct labels.
""",
    "measure_rows": """
X : array, data frame, CSR/CSC matrix of shape (n_rows, n_features), or `RowBlocks`
    Training rows; the kernel matrix for ``kernel="precomputed"``. Rows in blocks
    (`everypair.blocks`) take the linear kernel.
y : array of shape (n_rows,), default=None
    Two distinct labels; None where X comes in blocks, which have them.
""",
    "dense_rows": """
X : array or data frame of shape (n_rows, n_features)
    Training rows.
y : array of shape (n_rows,)
    Two distinct labels.
""",
    "sample_weight": """
sample_weight : array of shape (n_rows,), default=None
    Weights >= 0; None means 1 for every row. A pair weighs the product of its rows' weights.
""",
    "within": """
within : array of shape (n_rows,), default=None
    Labels of groups (a user, a query, a day): rows are paired inside their group only. None
    pairs every positive with every negative row.
""",
    "measure_weight": """
sample_weight : array of shape (n_rows,), default=None
    Weights >= 0; None means 1 for every row. They count in the measure as well.
""",
    "groups": """
groups : array of shape (n_rows,), default=None
    For the folds of ``cv``: rows of one group are never on both sides of a fold. A guarantee of
    ``threshold`` treats rows of one group as dependent.
""",
    "returns_self": """
Returns
-------
self : object
    The fitted estimator.
""",
}

TEXTS = {**PARAMETERS, **ATTRIBUTES, **FIT}
