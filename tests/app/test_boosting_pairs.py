"""`boosting-pairs` in the command line: compared, chosen, saved, explained."""

import io
import json

import numpy as np
import pytest

import tests.model_seeds as seeds
from everypair.app.comparison import models
from everypair.app.comparison.models import candidates_of
from everypair.app.comparison.race import choose
from everypair.app.comparison.search import fit_candidate, inner_splits, values_of_fold
from everypair.app.comparison.typed_measure import parse_measure
from everypair.app.comparison.yardstick import ByMeasure
from everypair.app.files.problems import DataError
from everypair.app.model_file.store import load_model, packed, save_model
from everypair.rows import Rows


def checkers(n=900, seed=0):
    """No linear model ranks these."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return X, X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n) > 0.8


def test_without_a_library_its_name_gives_the_remedy(monkeypatch):
    few = {k: c for k, c in models.CANDIDATES.items() if k != "boosting-pairs"}
    monkeypatch.setattr(models, "CANDIDATES", few)
    with pytest.raises(ValueError, match=r"needs LightGBM or XGBoost.*everypair\[boost\]"):
        candidates_of(["boosting-pairs"])


class TestInstalled:
    @pytest.fixture(autouse=True)
    def _library(self):
        pytest.importorskip("lightgbm")

    def test_the_choice_among_methods_may_take_it(self):
        X, y = checkers()
        names = ("auc", "logistic", "boosting-pairs")
        found = choose([models.CANDIDATES[name] for name in names], X, y)
        assert found.candidate.name == "boosting-pairs"
        assert found.settings["n_rounds"] >= 1
        model = found.candidate.at(found.settings).fit(X, y)
        assert model.n_rounds_ == found.settings["n_rounds"]
        assert found.candidate.knows(json.loads(json.dumps(found.settings)))

    def test_a_fold_that_stops_early_does_not_bound_the_rounds_of_the_choice(self):
        X, y = checkers(400)
        candidate = models.CANDIDATES["boosting-pairs"]
        folds = inner_splits(y, None, 0)
        curves = [values_of_fold(candidate, X, y, None, fold) for fold in folds]
        assert {len(curve) for curve in curves} == {models.MOST_ROUNDS}
        means = np.mean([[one.value for one in curve] for curve in curves], axis=0)
        own = fit_candidate(candidate, X, y).model
        assert own.n_rounds_ == 1 + np.argmax(means)
        np.testing.assert_allclose(own.cv_scores_, means[: own.cv_scores_.size])
        assert choose([candidate], X, y).settings == {"n_rounds": own.n_rounds_}

    def test_rounds_are_chosen_by_the_measure_of_the_command(self):
        X, y = checkers(400)
        measure = parse_measure("pauc@fpr=0.1")
        by = ByMeasure.of(measure, Rows.of(y))
        candidate = models.catalogue(measure)["boosting-pairs"]
        fitted = fit_candidate(candidate, X, y, by=by)
        assert fitted.remarks == []
        assert fitted.model.measure == {"measure": "partial_roc_area", "fpr": 0.1}
        scores = fitted.model.cv_scores_
        assert fitted.settings == {"n_rounds": fitted.model.n_rounds_}
        again = fit_candidate(candidate, X, y, settings=fitted.settings, by=by)
        levels = again.scores(X) - fitted.scores(X)  # the cuts differ, the trees do not
        np.testing.assert_allclose(levels, levels[0], atol=1e-6)
        by_area = fit_candidate(models.CANDIDATES["boosting-pairs"], X, y, by=by)
        assert by_area.remarks == ["chooses its settings by AUC, not by the measure"]
        assert not np.allclose(by_area.model.cv_scores_[:5], scores[:5])
        found = choose([models.CANDIDATES["auc"], candidate], X, y, by=by)
        assert found.candidate.name == "boosting-pairs"

    @pytest.mark.parametrize("table", seeds.TABLES)
    @pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
    def test_a_saved_model_scores_the_same_and_needs_no_library(
        self, library, table, tmp_path, monkeypatch
    ):
        pytest.importorskip(library)
        from everypair.boosting import AUCBoostingClassifier

        rows = seeds.TABLES[table]
        model = seeds.fitted(
            AUCBoostingClassifier(
                library, max_rounds=9, patience=None, min_samples_leaf=3, calibration="sigmoid"
            ),
            rows,
        )
        save_model(model, tmp_path / "m.everypair", rows)
        monkeypatch.setitem(__import__("sys").modules, library, None)
        loaded = load_model(tmp_path / "m.everypair")
        assert type(loaded.estimator.booster_).__name__ == "PlainTrees"
        monkeypatch.undo()
        np.testing.assert_array_equal(loaded.score(rows), model.score(rows))
        np.testing.assert_array_equal(loaded.probability(rows), model.probability(rows))

    def test_a_file_whose_trees_were_changed_is_refused(self, tmp_path):
        from everypair.boosting import AUCBoostingClassifier

        model = seeds.fitted(AUCBoostingClassifier(max_rounds=5, patience=None, min_samples_leaf=3))
        for column, value in (("left", 0), ("right", 500), ("feature", 77), ("value", np.inf)):
            description, parts = seeds.parts_of(packed(model))
            attributes = seeds.estimator_of(description)["object"][1]
            trees = attributes["booster_"]["object"][1]
            name = f"{trees[column]['array']}.npy"
            array = np.load(io.BytesIO(parts[name]))
            array[0] = value
            parts[name] = seeds.npy(array)
            path = tmp_path / "changed.everypair"
            path.write_bytes(seeds.file_of(description, parts))
            with pytest.raises(DataError, match=r"(?s)damaged or was changed.*trees are damaged"):
                load_model(path)
        # Something else in the place of the trees, and a setting that is missing.
        description, parts = seeds.parts_of(packed(model))
        attributes = seeds.estimator_of(description)["object"][1]
        del attributes["patience"]
        path.write_bytes(seeds.file_of(description, parts))
        with pytest.raises(DataError, match="has no 'patience'"):
            load_model(path)

    def test_columns_held_to_a_direction_are_kept_by_both_libraries(self, monkeypatch):
        X, y = checkers()
        for library in ("lightgbm", "xgboost"):
            pytest.importorskip(library)
            monkeypatch.setattr(
                models, "find_spec", lambda name, only=library: name if name == only else None
            )
            held = models.CANDIDATES["boosting-pairs"].directed(np.array([1, 0, 0, -1]))
            model = models._boosting_pairs_at(40, **held).fit(X, y)
            assert model.library == library
            line = np.repeat(X[:40], 30, axis=0)
            line[:, 0] = np.tile(np.linspace(-3, 3, 30), 40)
            rising = model.decision_function(line).reshape(40, 30)
            assert np.all(np.diff(rising, axis=1) >= -1e-6)

    def test_it_has_the_threads_that_the_application_allows(self):
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            assert models._boosting_pairs().n_jobs == 1
