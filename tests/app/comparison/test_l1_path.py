"""The L1 path that the report and `everypair path` both show."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from everypair import auc_path
from everypair.app.comparison.run import compare_methods


@pytest.mark.usefixtures("whole_searches")
def test_report_and_command_choose_the_same_alpha(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4)).round(3)
    y = X[:, 0] + rng.logistic(size=150) > 1
    found = compare_methods(X, y, models=["logistic"], n_folds=3, n_repeats=1, path=True)
    assert found.folds == "3 folds x 1 repeat"
    assert found.path.chosen in found.path.alphas
    path = tmp_path / "t.csv"
    rows = [",".join(map(str, row)) + f",{int(label)}" for row, label in zip(X, y, strict=True)]
    path.write_text("\n".join(["x0,x1,x2,x3,y", *rows]) + "\n")
    said = json.loads(
        run("path", path, "-t", "y", "--positive", "1", "--steps", "40", "--json").out
    )
    assert said["chosen_alpha"] == pytest.approx(found.path.chosen)
    assert " 1 feature," in run("path", path, "-t", "y", "--steps", "8").out


def test_too_few_rows_to_choose_on_leave_the_path_out():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), np.arange(30) < 2
    found = compare_methods(X, y, models=["auc-rls"], n_folds=2, n_repeats=1, path=True)
    assert found.path is None
    assert any(note.startswith("the L1 path is left out: the rarer class") for note in found.notes)


def test_only_what_was_foreseen_is_caught(monkeypatch):
    """A fault of the path is not passed over, and warnings other than of convergence are told."""
    import warnings

    from everypair import AUCClassifierCV
    from everypair.app.comparison.l1_path import l1_path

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3 == 0
    plain = AUCClassifierCV.fit

    def loud(self, *arguments, **options):
        warnings.warn("look here", UserWarning, stacklevel=2)
        return plain(self, *arguments, **options)

    monkeypatch.setattr(AUCClassifierCV, "fit", loud)
    with pytest.warns(UserWarning, match="look here"):
        l1_path(X, y, None, None, 0, 5)

    def broken(self, *arguments, **options):
        raise ValueError("a fault")

    monkeypatch.setattr(AUCClassifierCV, "fit", broken)
    with pytest.raises(ValueError, match="a fault"):
        compare_methods(X, y, models=["auc-rls"], n_folds=3, n_repeats=1, path=True)


def test_the_path_on_all_rows_is_fitted_once(monkeypatch):
    from everypair.app.comparison.l1_path import l1_path
    from everypair.solvers.elastic_net import SparseProblem

    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 5))
    y = X[:, 0] + rng.standard_normal(90) > 0
    on_all, plain = [], SparseProblem.fit

    def counting(self, alpha, **options):
        on_all.append(bool(self.pairs.share.all()))
        return plain(self, alpha, **options)

    monkeypatch.setattr(SparseProblem, "fit", counting)
    found = l1_path(X, y, None, None, 0, 7)
    assert sum(on_all) == 7
    assert found.converged
    np.testing.assert_allclose(
        found.coefs, auc_path(X, y, alphas=found.alphas, tol=1e-8).coefs, atol=1e-2
    )
