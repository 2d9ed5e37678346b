"""Parameters that several metrics and displays have, described once (`everypair.described`)."""

from __future__ import annotations

from everypair.described import described_by

LABELS = """
y_true : array of shape (n_rows,)
    Two distinct labels.
"""

TEXTS = {
    "y_true": LABELS,
    "scores": LABELS
    + """
y_score : array of shape (n_rows,)
    Finite scores: the higher, the more likely positive.
""".lstrip("\n"),
    "probabilities": LABELS
    + """
y_prob : array of shape (n_rows,)
    Probabilities of the positive class.
""".lstrip("\n"),
    "sample_weight": """
sample_weight : array of shape (n_rows,), default={sample_weight}
    Weights >= 0; None means 1 for every row.
""",
    "groups": """
groups : array of shape (n_rows,), default={groups}
    Rows of one group depend on each other.
""",
    "level": """
level : float, default={level}
    Confidence level.
""",
    "bins": """
n_bins : int, default={n_bins}
    Number of bins.
strategy : {"quantile", "uniform"}, default={strategy}
    Bins with about as many rows each, or of equal width.
""",
    "within": """
within : array of shape (n_rows,), default={within}
    Labels of groups: only pairs inside a group count, and AUC is the weighted mean of the
    groups' areas. Groups without both classes are left out.
""",
    "rates": """
tpr : float or array
    True positive rates.
fpr : float or array
    False positive rates.
skew : float or array
    Negatives per positive.
""",
    "value_per_point": """
Returns
-------
float or array
    One value per point.
""",
    "pos_label": """
pos_label : label, default={pos_label}
    The positive label; None means the second of the sorted ones.
""",
}

described = described_by(TEXTS)
