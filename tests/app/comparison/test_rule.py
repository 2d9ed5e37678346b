"""The grammar of ``--threshold`` and ``--top``."""

from __future__ import annotations

import pytest

from everypair.app.comparison.rule import rule_of, top_of


@pytest.mark.parametrize(
    ("typed", "asked", "number"),
    [
        ("precision=0.9", {"precision": 0.9}, None),
        ("Recall=80%", {"recall": 0.8}, None),
        (" npv=.99 ", {"npv": 0.99}, None),
        ("fpr=1e-2", {"fpr": 0.01}, None),
        ("top=5%", {"top": 0.05}, None),
        ("top=500", {"top": 500}, None),
        ("cost=1:10", {"cost": (1.0, 10.0)}, None),
        ("f1", {"rule": "f1"}, None),
        ("0.35", {}, 0.35),
        ("-1.5", {}, -1.5),
        ("probability=30%", {}, 0.3),
    ],
)
def test_every_form_is_understood(typed, asked, number):
    rule = rule_of(typed)
    assert (rule.asked, rule.number) == (asked, number)
    assert rule.is_probability == ("probability" in typed)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("precise", "--threshold 'precise' is not known: use precision=0.9, recall=0.8"),
        ("precision", "precision must lie between 0 and 1"),
        ("precision=", "precision must lie between 0 and 1"),
        ("precision=1.2", "precision must lie between 0 and 1, such as precision=0.9"),
        ("recall=0", "recall must lie between 0 and 1"),
        ("probability=1", "probability must lie between 0 and 1"),
        ("top=0", "top 0: give a count of rows of at least 1"),
        ("top=101%", "up to 100%"),
        ("cost=1", "two costs are needed"),
        ("cost=0:0", "two costs are needed"),
        ("cost=-1:2", "two costs are needed"),
        ("nan", "is not known"),
    ],
)
def test_a_form_that_is_none_is_refused_with_the_way_out(typed, says):
    with pytest.raises(ValueError, match="--threshold") as refused:
        rule_of(typed)
    assert says in str(refused.value)


def test_a_guarantee_needs_a_requirement_and_a_confidence():
    assert rule_of("precision=0.9", 0.95).guarantee == 0.95
    assert rule_of(None) is None
    with pytest.raises(ValueError, match=r"such as --threshold precision=0\.9"):
        rule_of(None, 0.95)
    with pytest.raises(ValueError, match="cannot be used with --threshold f1"):
        rule_of("f1", 0.95)
    for wrong in (0, 1, 95.0, float("nan")):
        with pytest.raises(ValueError, match="a confidence between 0 and 1"):
            rule_of("recall=0.8", wrong)


@pytest.mark.parametrize("typed", ["0", "0%", "-5", "100.1%", "1.5", "some", "", "5 %x", "nan"])
def test_a_top_out_of_range_is_refused(typed):
    with pytest.raises(ValueError, match=r"--top .*: give a count of rows of at least 1"):
        top_of(typed)
    assert (top_of("1"), top_of("100%"), top_of("0.5%")) == (1, 1.0, 0.005)
