"""The spread over the groups of ``--within`` in the report."""

from dataclasses import replace

import numpy as np
from simulated_comparison import make_comparison

from everypair.app.report import write_report
from everypair.app.report.group_spread import N_BARS, group_spread
from everypair.metrics import auc_by_group


def in_groups(n_groups=30):
    comparison = make_comparison()
    groups = np.array([f"shop {k:02d}" for k in np.arange(comparison.y.size) % n_groups])
    return replace(comparison, within=groups)


def test_every_group_with_a_pair_is_in_one_bar_of_each_model():
    comparison = in_groups()
    spread = group_spread(comparison)
    for number, model in enumerate(spread["models"]):
        (found,) = (m for m in comparison.models if m.name == model["name"])
        areas = auc_by_group(comparison.y, found.scores, comparison.within, comparison.weights)
        counts = np.array([bar["parts"][number]["count"] for bar in spread["bars"]])
        np.testing.assert_array_equal(counts, np.histogram(areas.auc, N_BARS, (0, 1))[0])
        assert counts.sum() == spread["n_groups"] == areas.auc.size
        assert model["quartiles"][1] == np.median(areas.auc)


def test_the_worst_groups_come_first_under_their_own_names(tmp_path):
    comparison = in_groups()
    listed = group_spread(comparison)["listed"]
    areas = [group["areas"][0] for group in listed]
    assert areas == sorted(areas)
    page = write_report(comparison, tmp_path / "report.html").read_text()
    assert 'id="groups"' in page
    assert page.index(listed[0]["group"]) < page.index(listed[-1]["group"])


def test_a_comparison_without_groups_has_no_such_section(tmp_path):
    comparison = make_comparison()
    assert group_spread(comparison) is None
    assert 'id="groups"' not in write_report(comparison, tmp_path / "report.html").read_text()
