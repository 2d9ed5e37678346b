"""AUCRLS and AUCRLSCV under scikit-learn's own checks."""

from __future__ import annotations

from contract import scikit_learn_contract

from everypair import AUCRLS, AUCRLSCV

# Not kernel="precomputed": the check of dtypes cuts a kernel matrix down to integers, which
# leaves it indefinite, and that is an error here.
CHECKED = [
    AUCRLS(),
    AUCRLS(form="dual"),
    AUCRLS(kernel="rbf", threshold="balanced"),
    AUCRLSCV(),
    AUCRLSCV(kernel="rbf", cv=3),
]


@scikit_learn_contract(*CHECKED)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
