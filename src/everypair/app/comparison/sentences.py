"""What each model is, in one sentence for people who do not know its name."""

from __future__ import annotations

SUM = "A weighted sum of the columns"

SENTENCES = {
    "auc": f"{SUM}, with the weights that best put positives above negatives over all pairs of "
    "rows (logistic loss).",
    "auc-hinge": f"{SUM}, with weights that put positives above negatives by a margin, over all "
    "pairs of rows (squared hinge loss).",
    "auc-sigmoid": f"{SUM}, with weights that count the pairs in the right order almost as AUC "
    "does (sigmoid loss).",
    "auc-l1": f"{SUM} that uses as few columns as it can (logistic loss over all pairs, L1 "
    "penalty).",
    "auc-rls": f"{SUM}, with weights in closed form by least squares over all pairs of rows.",
    "auc-rls-rbf": "A smooth function of all columns together, by least squares over all pairs of "
    "rows (Gaussian kernel).",
    "rankopt": f"{SUM}, with weights that climb the AUC itself.",
    "rankboost": "A sum of yes/no questions about single columns, added one after another to put "
    "more pairs in the right order.",
    "additive": "A sum of curves, one per column, from which one reads what each value adds to the "
    "score.",
    "cpauc": f"{SUM} that uses few of them, fitted on clusters of pairs.",
    "roc-svm": "A smooth function of all columns together, with a margin between positives and "
    "negatives over all pairs (Gaussian kernel).",
    "two-norm-svm": "A smooth function of all columns together, a support vector machine for "
    "ranking (Gaussian kernel).",
    "svm-roc-area": f"{SUM}, a support vector machine trained on the ROC area.",
    "svm-f1": f"{SUM}, a support vector machine trained on F1.",
    "measure-opt": f"{SUM}, with weights that climb the measure itself from a logistic regression.",
    "logistic": f"{SUM} that estimates the probability of each row; the usual first choice "
    "(scikit-learn).",
    "logistic-balanced": "A logistic regression in which both classes weigh the same "
    "(scikit-learn).",
    "linear-svm": f"{SUM} with a margin between the classes, a support vector machine "
    "(scikit-learn).",
    "boosting": "Many small decision trees, each correcting the ones before; it finds bends and "
    "combinations of columns (scikit-learn).",
    "boosting-pairs": "Many small decision trees, each correcting the order of the pairs that the "
    "ones before got wrong; it finds bends and combinations of columns (LightGBM or XGBoost).",
}


def what_is(name: str) -> str:
    """The sentence for a model of this name; "" where there is none."""
    return SENTENCES.get(name, "")
