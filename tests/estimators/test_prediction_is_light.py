"""The package is imported, metrics and displays are, small tables are fitted, and fitted models
predict, without numba and without matplotlib."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib.util import find_spec

from everypair import (
    ROCSVM,
    AUCClassifier,
    MeasureSVM,
    RankOpt,
    RankOptCV,
    TwoNormSVM,
)
from everypair.boosting import AUCBoostingClassifier
from everypair.estimators._calibration import METHODS

MODELS = [
    AUCClassifier(),
    *(AUCClassifier(calibration=method) for method in METHODS),
    RankOpt(tol=1e-2),
    RankOpt(pairs="linear", random_state=0, tol=1e-2),
    RankOptCV(tol=1e-2, saturation=(0.1, 0.6), cv=2),
    MeasureSVM(C=0.01),
    MeasureSVM(C=0.01, kernel="rbf"),
    ROCSVM(C=1e-3),
    TwoNormSVM(),
]

# One process for all models, as it takes a second to start. It prints what loaded something heavy,
# and whether the scores of a model are those of the process that fitted it.
PREDICT = """
import sys
import everypair

def finish(name, *more):
    for module in ("numba", "matplotlib", "lightgbm", "xgboost", *more):
        if sys.modules.pop(module, None):
            print(name, "loads", module)

finish("importing everypair", "pandas", "sklearn")
everypair.AUCClassifier  # brings scikit-learn, which may bring pandas
finish("importing an estimator")

import everypair.metrics as m

m.auc_confidence_interval, m.compare_auc, m.roc_band, m.get_scorer
m.threshold_for([0, 1, 1], [1, 2, 3], "f1")
finish("importing metrics")
import everypair.plots

everypair.plots.ROCDisplay
finish("importing a display")

import pickle
import numpy as np
from scipy import sparse

models, X, scores = pickle.load(sys.stdin.buffer)
finish("unpickling")
for model, wanted in zip(models, scores, strict=True):
    for kind in (np.asarray, sparse.csr_matrix, sparse.csc_matrix):
        for dtype in (np.float64, np.float32):
            assert model.predict(kind(X.astype(dtype))).shape == (X.shape[0],)
    if hasattr(model, "predict_proba"):
        assert model.predict_proba(X).shape == (X.shape[0], 2)
    if hasattr(model, "pair_status"):
        model.pair_status(X[:1], X)
    if not np.array_equal(model.decision_function(X), wanted):
        print(model, "has other scores")
    finish(model)

from everypair import AUCRLS, AUCClassifier

rng = np.random.default_rng(0)
rows = rng.standard_normal((2000, 10))
labels = rows[:, 0] + rng.logistic(size=2000) > 1
for kind in (np.ascontiguousarray, np.asfortranarray):
    for dtype in (np.float64, np.float32):
        assert AUCClassifier().fit(kind(rows.astype(dtype)), labels).n_iter_ > 1
        finish(f"fitting 2,000 rows of {dtype.__name__}")

for kernel in ("linear", "rbf"):
    model = AUCRLS(kernel=kernel).fit(X, X[:, 0] > 1)
    pickle.loads(pickle.dumps(model)).predict(X)
    finish(f"fitting {model}")
print("done")
"""


def test_neither_import_nor_prediction_loads_anything_heavy(imbalanced):
    X, y = imbalanced
    fits = [model.fit(X, y) for model in MODELS]
    if find_spec("lightgbm"):
        trees = AUCBoostingClassifier("lightgbm", max_rounds=5, patience=None, threshold=0.0)
        fits.append(trees.fit(X, y).without_library())
    given = pickle.dumps((fits, X, [fit.decision_function(X) for fit in fits]))
    done = subprocess.run(
        [sys.executable, "-c", PREDICT], input=given, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout.decode()) == (0, "done\n"), done.stderr.decode()
