"""scikit-learn's contract: all of it for each estimator, its numbers for each of its variants.

What an estimator does with its parameters, with odd input and with its attributes does not depend
on a loss, a kernel or a measure. So a variant runs two checks of what a fit computes, and the
others among the slow tests.
"""

from __future__ import annotations

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

OF_NUMBERS = {"check_classifiers_train", "check_sample_weight_equivalence_on_dense_data"}


def scikit_learn_contract(
    *estimators, expected_failed_checks=None, last_digits=None, checked_elsewhere=()
):
    """Parametrise a test by ``estimator`` and ``check``: all checks of the first estimator of a
    class, and of the others, as of classes ``checked_elsewhere``, those `OF_NUMBERS` on arrays in
    memory; the rest is marked as slow. So are the check of sparse matrices, which repeats that of
    sparse arrays, checks on mapped files beside `check_readonly_memmap_input`, and checks that are
    expected to fail.

    scikit-learn compares weighted with repeated rows to 1e-7. The parameters ``last_digits`` hold
    for these checks alone: the others need no fit that goes so far."""
    cases, seen = [], set(checked_elsewhere)
    for estimator in estimators:
        is_variant = type(estimator) in seen
        seen.add(type(estimator))
        name_of_estimator = repr(estimator)  # slow, and the same for every check
        known = None if expected_failed_checks is None else expected_failed_checks(estimator)
        for case in estimator_checks_generator(
            estimator, expected_failed_checks=known, mark="xfail"
        ):
            expected_to_fail = hasattr(case, "marks")
            values, marks = (case.values, case.marks) if expected_to_fail else (case, ())
            name, options = values[1].func.__name__, values[1].keywords
            mapped = options.get("readonly_memmap", False)
            repeats = name == "check_estimator_sparse_matrix" or mapped or expected_to_fail
            if repeats or (is_variant and name not in OF_NUMBERS):
                marks = (*marks, pytest.mark.slow)
            if last_digits is not None and "sample_weight_equivalence" in name:
                values = (clone(values[0]).set_params(**last_digits), *values[1:])
            told = "-".join([name_of_estimator, name, *map(str, options.values())])
            cases.append(pytest.param(*values, marks=marks, id=" ".join(told.split())))
    return pytest.mark.parametrize(("estimator", "check"), cases)
