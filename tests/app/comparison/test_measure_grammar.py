"""What --measure understands, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from everypair.app.comparison.typed_measure import FORMS, canonical_spelling, parse_measure
from everypair.measures.operating import operating_measure
from everypair.rows import Rows

KNOWN = {
    "f1": ("f1", {}, "F1"),
    "F1 ": ("f1", {}, "F1"),
    "f2": ("fbeta", {"beta": 2.0}, "F2"),
    "fbeta=0.5": ("fbeta", {"beta": 0.5}, "F0.5"),
    "fbeta=1": ("f1", {}, "F1"),
    "jaccard": ("jaccard", {}, "Jaccard index"),
    "gmean": ("gmean", {}, "G-mean"),
    "mcc": ("mcc", {}, "Matthews correlation"),
    "informedness": ("informedness", {}, "informedness"),
    "cost=1:10": ("cost", {"cost": (1.0, 10.0)}, "cost per row"),
    "recall@fpr=0.01": ("tpr_at_fpr", {"fpr": 0.01}, "recall at 1% false positives"),
    "recall@fpr=1%": ("tpr_at_fpr", {"fpr": 0.01}, "recall at 1% false positives"),
    "recall@fpr=1e-5": ("tpr_at_fpr", {"fpr": 1e-5}, "recall at 0.001% false positives"),
    "fpr@recall=.9": ("fpr_at_tpr", {"tpr": 0.9}, "false positive rate at 90% recall"),
    "precision@recall=0.8": ("precision_at_recall", {"recall": 0.8}, "precision at 80% recall"),
    "recall@precision=0.9": ("recall_at_precision", {"precision": 0.9}, "recall at 90% precision"),
    "precision@top=500": ("precision_at_k", {"k": 500}, "precision of the top 500 rows"),
    "recall@top=5%": ("recall_at_k", {"k": 0.05}, "recall of the top 5%"),
    "recall@top=0.05": ("recall_at_k", {"k": 0.05}, "recall of the top 5%"),
    "recall@top=2p": ("recall_at_k", {"k": "2p"}, "recall of the top 2p rows"),
    "pauc@fpr=0.05": ("partial_roc_area", {"fpr": 0.05}, "partial AUC up to 5% false positives"),
    "average-precision": ("average_precision", {}, "average precision"),
    "average_precision": ("average_precision", {}, "average precision"),
}


@pytest.mark.parametrize("typed", KNOWN)
def test_every_form_names_a_measure_of_the_library(typed):
    name, options, label = KNOWN[typed]
    found = parse_measure(typed)
    assert (found.name, found.options) == (name, options)
    assert found.label.startswith(label)
    rng = np.random.default_rng(0)
    rows = Rows.of(rng.random(1000) < 0.3)
    scores = rows.positive + rng.normal(size=1000)
    wanted = operating_measure(name, rows, **options)
    assert found.of(rows).value(rows, scores, 0.7) == wanted.value(rows, scores, 0.7)
    assert parse_measure(found.typed) == found  # its one spelling is read again


def test_every_form_that_the_refusal_lists_is_understood():
    for form in FORMS:
        canonical_spelling(form.split(" ")[0])
    assert canonical_spelling("AUC") == "auc"
    assert parse_measure("auc") is None


UNKNOWN = ("accuracy", "", "cost=1", "precision@fpr=0.1", "recall@", "top=5", "recall@k=5", "f")


@pytest.mark.parametrize("typed", UNKNOWN)
def test_an_unknown_measure_is_refused_with_the_list(typed):
    with pytest.raises(ValueError, match=r"is not known: use auc, f1, .*average-precision[.]$"):
        parse_measure(typed)


WRONG = {
    "recall@fpr=0": "fpr must lie between 0 and 1",
    "recall@fpr=1": "fpr must lie between 0 and 1",
    "recall@fpr=-1": "fpr must lie between 0 and 1",
    "recall@fpr=nan": "fpr must lie between 0 and 1",
    "pauc@fpr=0": "fpr must lie between 0 and 1",
    "fpr@recall=200%": "recall must lie between 0 and 1",
    "precision@top=0": "top must be a count of rows",
    "precision@top=1.5": "top must be a count of rows",
    "precision@top=0p": "top must be a count of rows",
    "recall@top=many": "top must be a count of rows",
    "f0": "beta must be a number above 0",
    "cost=0:0": "two costs are needed",
    "cost=-1:2": "two costs are needed",
}


@pytest.mark.parametrize("typed", WRONG)
def test_a_number_that_is_none_is_refused_by_its_name(typed):
    with pytest.raises(ValueError, match=f"^--measure {typed}: {WRONG[typed]}"):
        parse_measure(typed)


def test_a_count_is_the_same_share_of_part_of_the_rows():
    rows, half = Rows.of(np.arange(100) % 5 == 0), Rows.of(np.arange(50) % 5 == 0)
    measure = parse_measure("precision@top=20")
    assert measure.as_share(rows).of(half).amount == measure.of(rows).amount == 0.2
    assert measure.as_share(rows).typed == measure.typed


@pytest.mark.parametrize("typed", ["precision@top=101", "recall@top=6p"])
def test_more_rows_than_there_are_is_refused(typed):
    with pytest.raises(ValueError, match=rf"{typed} asks for more rows than there are \(100\)"):
        parse_measure(typed).of(Rows.of(np.arange(100) % 5 == 0))
