from __future__ import annotations

import numpy as np
import pytest

from everypair.rows import Rows


def test_each_class_sums_to_one_whatever_the_weights():
    positive = np.array([True, False, True, False])
    for weight in (None, np.array([1.0, 5.0, 3.0, 0.0]), np.array([1e300, 1e308, 1e308, 1e308])):
        rows = Rows.uncut(positive, weight)
        assert rows.share[positive].sum() == pytest.approx(1)
        assert rows.share[~positive].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("positive", "weight", "message"),
    [
        ([True, True], None, "no negative row among the 2"),
        ([False, False, False], None, "no positive row among the 3"),
        ([True, False], [1.0], "1 values for 2 rows"),
        ([True, False], [1.0, np.nan], "value nan in row 1"),
        ([True, False], [1.0, -2.0], "negative value -2"),
        ([True, False, False], [1.0, 0.0, 0.0], "every negative row is zero"),
    ],
)
def test_impossible_rows_are_refused_by_name(positive, weight, message):
    weight = None if weight is None else np.array(weight)
    with pytest.raises(ValueError, match=message):
        Rows.uncut(np.array(positive), weight)
