"""What RankOpt's paper leaves open, and what could be added to the sphere (`rankopt.py`)."""

from __future__ import annotations

import time
from unittest.mock import patch

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

from everypair import RankOpt
from everypair.linalg.matrix import as_matrix
from everypair.solvers import sphere as climbs
from everypair.solvers.column_moments import column_moments
from everypair.solvers.sphere import Climb, Coordinates, Sphere
from lab.benchmarks.rankopt_splits import PSF_TASKS, climbed, cuts, prepared, timed_fit, verdict
from lab.data.tasks import tasks
from lab.harness import markdown_table

CHOICE_TASKS, CHOICE_ROWS, CHOICE_SPLITS = (*PSF_TASKS, "spectf"), 3000, 5
CHOICE_SATURATIONS = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)


def unit_of(of_moments):
    """Features in another unit; the start is separation over variance in each."""

    def metric(sphere, start, pairs, covariance):
        moments = column_moments(sphere.X, pairs)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(sphere.scale > 0, of_moments(moments), 0.0)
        new_start = np.zeros_like(scale)
        np.divide(sphere.scale * start, scale, out=new_start, where=scale > 0)
        other = Sphere(sphere.X, scale, Coordinates(covariance, scale))
        return other, new_start / np.linalg.norm(new_start), None

    return metric


def ellipsoid(weight):
    """``weight |u|^2 + (1 - weight) u' C u = 1`` in place of the sphere, C the class covariance."""

    def metric(sphere, start, pairs, covariance):
        C = sphere.scale * covariance * sphere.scale[:, None]
        factor = cholesky(weight * np.eye(start.size) + (1 - weight) * C, lower=True)
        scaled = sphere.X.written_out(np.arange(sphere.X.shape[0])) * sphere.scale
        rows = solve_triangular(factor, scaled.T, lower=True).T
        ones, start = np.ones(start.size), factor.T @ start
        other = Sphere(as_matrix(np.ascontiguousarray(rows)), ones, Coordinates(None, ones))

        def back(coefs):
            return sphere.scale[:, None] * solve_triangular(factor, coefs, lower=True, trans="T")

        return other, start / np.linalg.norm(start), back

    return metric


def with_l1_pull(strength):
    """Climbs ``R - strength |u|_1 / sqrt(p)``, the corners of ``|.|_1`` rounded."""

    def climber(sphere, statistic, start, radius, max_iter, tol):
        strength_each = strength / np.sqrt(start.size)

        def loss_and_gradient(v):
            length = np.linalg.norm(v)
            u = v / length
            point = statistic.at(radius * sphere.scores(u))
            sizes = np.sqrt(u**2 + 1e-6)
            gradient = radius * sphere.pull_back(point.gradient) + strength_each * u / sizes
            return (
                point.loss + strength_each * sizes.sum(),
                (gradient - (gradient @ u) * u) / length,
            )

        found = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B",
                         options={"maxiter": max_iter, "gtol": tol / 100})  # fmt: skip
        u = found.x / np.linalg.norm(found.x)
        return Climb(u, sphere.scores(u), float(found.fun), True, [float(found.fun)])

    return climber


METRICS = {
    "standard deviation (ours)": {},
    "class deviation": {"metric": unit_of(lambda m: m.variance**-0.5)},
    "separation over variance (section 3.4)": {
        "metric": unit_of(lambda m: np.abs(m.separation) / m.variance)
    },
    "its square root": {"metric": unit_of(lambda m: np.sqrt(np.abs(m.separation) / m.variance))},
    "ellipsoid, 0.1": {"metric": ellipsoid(0.1)},
    "L1 pull, 0.01": {"climber": with_l1_pull(0.01)},
    "L1 pull, 0.1": {"climber": with_l1_pull(0.1)},
}
STEPS = ((1.2, 0.5), (1.05, 0.5), (2.0, 0.5), (1.2, 0.25), (1.2, 0.8))


def of_metric(settings):
    return lambda X, y: (climbed(X, y, CHOICE_SATURATIONS, **settings), 0)


def of_steps(longer, shorter):
    def fit(X, y):
        model = RankOpt(pairs="linear", n_subfolds=1, random_state=0)
        with patch.multiple(climbs, LONGER=longer, SHORTER=shorter):
            model, _, unconverged = timed_fit(model, X, y)
        return model.coef_.T, unconverged

    return fit


def tried(ways):
    """A row a way: test AUC less that of the first, each at its best radius; time, cut short."""
    scores, spent, cut_short = {}, dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0)
    overlaps = {}
    for name, X, y in tasks(list(CHOICE_TASKS)):
        all_cuts, overlaps[name] = cuts(y, CHOICE_SPLITS, CHOICE_ROWS)
        for train, test in all_cuts:
            X_train, X_test = prepared(X, train, test)
            for way, fit in ways.items():
                began = time.process_time()
                coefs, unconverged = fit(X_train, y[train])
                spent[way] += time.process_time() - began
                cut_short[way] += unconverged > 0
                found = [roc_auc_score(y[test], column) for column in (X_test @ coefs).T]
                scores.setdefault((way, name), []).append(found)
    first, rows = next(iter(ways)), []
    for way in ways:
        row = [way]
        for name, overlap in overlaps.items():
            ours, theirs = (np.array(scores[each, name]).T for each in (way, first))
            best, its_best = (np.argmax(aucs.mean(axis=1)) for aucs in (ours, theirs))
            cell = f"{ours[best].mean():.4f}"
            if way != first:
                cell = verdict(ours[best], theirs[its_best], overlap)[0]
            where = f" at {CHOICE_SATURATIONS[best]:g}" if len(ours) > 1 else ""
            row.append(cell + where)
        rows.append([*row, f"{spent[way] / spent[first]:.2f}", str(cut_short[way])])
    return ["", *overlaps, "time"], rows


def choices(page, args, cache):
    """What the paper leaves open, and what could be added to the sphere."""
    header, rows = tried({f"{a:g}, {b:g}": of_steps(a, b) for a, b in STEPS})
    text = (
        f"{CHOICE_SPLITS} splits, at most {CHOICE_ROWS:,} training rows. The first row of a table "
        "is what the library does, with its test AUC; below it the differences from that, with "
        "the p value of the corrected resampled t test. *Time*: of the processor, all tasks "
        "together, times the first row's.\n\n"
        'Factors of the step (section 3.1), `pairs="linear"`, one sub-fold; *cut short*: fits of '
        "whose climbs one ran out of steps.\n\n" + markdown_table([*header, "cut short"], rows)
    )
    header, rows = tried({way: of_metric(settings) for way, settings in METRICS.items()})
    text += (
        "\n\nUnit of a feature (sections 3.4 and 3.5), and a pull besides the sphere, "
        '`pairs="all"`, each at the saturation of its best mean test AUC, as the radius smooths, '
        "too. On the sphere an L2 penalty in these units is a constant; an ellipsoid is one in "
        "other units.\n\n" + markdown_table(header, [row[:-1] for row in rows])
    )
    page.add("Choices", text)
