"""The speed frontier: fits beside the fastest peer, first fits, reading; now and before.

python -m lab bench speed                                  every measurement
python -m lab bench speed --only path wide
python -m lab bench speed --before TREE --cache FILE       beside another tree; goes on from FILE
python -m lab bench speed --before TREE --cache FILE --write

Each measurement runs in a process of its own, in turns with the same one on the other tree. What is
told is processor time, the least of the turns: on a busy machine the clock says little. Peers run
in the same process and turn.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from lab.harness import Page, markdown_table

HERE = Path(__file__).parents[2]

SHORT_TURNS = 15
"""Of fits that take some hundredths of a second."""


def least_time(
    work: Callable[[], object],
    repeats: int = 3,
    first: Callable[[], object] | None = None,
    clock: Callable[[], float] = time.process_time,
) -> float:
    """The least of several runs, after one that is not timed: ``first``, or the work itself."""
    (first or work)()
    found = []
    for _ in range(repeats):
        began = clock()
        work()
        found.append(clock() - began)
    return min(found)


def linear(X, y, loss: str, peer, repeats: int = 1, alpha: float = 1e-3) -> dict[str, float]:
    from everypair import AUCClassifier

    model = AUCClassifier(loss, alpha=alpha, threshold=0.0)
    few = np.concatenate([np.flatnonzero(y)[:100], np.flatnonzero(~np.asarray(y, bool))[:200]])
    model.fit(X[few], y[few])
    turns = []
    for _ in range(repeats):  # turn by turn: the machine is not the same all the time
        began = time.process_time()
        model.fit(X, y)
        between = time.process_time()
        peer.fit(X, y)
        turns.append((between - began, time.process_time() - between))
    ours, of_peer = np.min(turns, axis=0)
    return {
        "ours": float(ours),
        "peer": float(of_peer),
        "gap": float(model.dual_gap_),
        "steps": int(model.n_iter_),
    }


def path(n_rows: int, loss: str) -> dict[str, float]:
    """20 alphas in five folds and on all rows, by processor time of one fit and path."""
    from everypair import AUCClassifier, AUCClassifierCV
    from lab.benchmarks.core import dense_data

    X, y = dense_data(n_rows, 50)
    search = AUCClassifierCV(loss, n_alphas=20, cv=5, threshold=0.0)
    ours = least_time(lambda: search.fit(X, y), 2)
    one = least_time(lambda: AUCClassifier(loss, threshold=0.0).fit(X, y))
    return {"ours": ours / 6, "peer": one, "gap": float(search.dual_gaps_.max())}


def wide(loss: str, n_columns: int = 1000) -> dict[str, float]:
    from sklearn.linear_model import LogisticRegression

    from lab.benchmarks.core import dense_data

    X, y = dense_data(10_000, n_columns)
    peer = LogisticRegression(C=1 / (1e-3 * y.size), max_iter=1000, tol=1e-6)
    return linear(X, y, loss, peer)


def small(name: str) -> dict[str, float]:
    from sklearn.svm import LinearSVC

    from lab.benchmarks.core import dense_data, text_like_data
    from lab.data.tasks import task

    alpha = 1e-4 if name == "text" else 1e-3
    if name == "a9a":
        found = task("a9a")
        X, y = found.X, found.positive
    else:
        X, y = dense_data(20_000, 50) if name == "dense" else text_like_data(20_000, 20_000)
    peer = LinearSVC(loss="hinge", C=1 / (alpha * len(y)), tol=1e-6, max_iter=10_000)
    return linear(X, y, "hinge", peer, SHORT_TURNS, alpha)


def rbf(C: float, n_rows: int = 5000) -> dict[str, float]:
    """C of SVC per row, which is what C of a pair becomes (`lab/benchmarks/rocsvm.py`)."""
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    from everypair import ROCSVM
    from lab.benchmarks.rocsvm import covtype, matching

    X, y = covtype(n_rows, 0)
    X = StandardScaler().fit_transform(X)
    model = ROCSVM(C=matching(y, C), threshold=0.0)
    ours = least_time(lambda: model.fit(X, y), 1, lambda: model.fit(X[:300], y[:300]))
    return {
        "ours": ours,
        "peer": least_time(lambda: SVC(C=C, cache_size=500).fit(X, y), 1),
        "gap": float(model.dual_gap_),
    }


def single(loss: str) -> dict[str, float]:
    """float32 beside float64 of the same rows: 20,000 x 784."""
    from everypair import AUCClassifier
    from lab.benchmarks.core import dense_data

    X, y = dense_data(20_000, 784)
    model, narrow = AUCClassifier(loss, threshold=0.0), X.astype(np.float32)
    ours = least_time(lambda: model.fit(narrow, y), 2)
    gap = float(model.dual_gap_)
    return {"ours": ours, "peer": least_time(lambda: model.fit(X, y), 2), "gap": gap}


def reading(clock: Callable[[], float], n_rows: int = 1_000_000) -> dict[str, float]:
    import pandas as pd

    from everypair.app.files.readers import Source, read

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "table.csv"
        table = pd.DataFrame(rng.standard_normal((n_rows, 30)).round(6)).add_prefix("x")
        table.to_csv(where, index=False)
        ours = least_time(lambda: read(Source(where)), clock=clock)
        return {"ours": ours, "peer": least_time(lambda: pd.read_csv(where), clock=clock)}


FIRST_FIT = (
    "import numpy as np; r = np.random.default_rng(0); X = r.standard_normal(({rows}, 10)); "
    "y = X[:, 0] + r.logistic(size={rows}) > 1; "
    "from everypair import AUCClassifier; AUCClassifier().fit(X, y)"
)
PEER = "import sklearn.linear_model"
NUMBA = (
    PEER + "; import sys; sys.path.insert(0, {folder!r}); from one_loop import loop; "
    "import numpy as np; loop(np.zeros(3))"
)
ONE_LOOP = "from numba import njit\n\n\n@njit(cache=True)\ndef loop(x):\n    return x.sum()\n"


def of_process(code: str, **environment: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], check=True,
        # Byte code is kept between processes, as it is for users.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **environment},
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first(kind: str, n_rows: int = 2000) -> dict[str, float]:
    """A whole process with its first fit, beside `import sklearn.linear_model`."""
    fit = FIRST_FIT.format(rows=n_rows)
    with tempfile.TemporaryDirectory() as folder:
        if kind == "numba":
            (Path(folder) / "one_loop.py").write_text(ONE_LOOP)
            code = NUMBA.format(folder=folder)
            of_process(code)
            ours = min(of_process(code) for _ in range(3))
        elif kind == "cold":
            ours = of_process(fit, NUMBA_CACHE_DIR=folder)
        else:
            of_process(fit)
            ours = min(of_process(fit) for _ in range(3))
        return {"ours": ours, "peer": min(of_process(PEER) for _ in range(3))}


MEASUREMENTS: dict[str, tuple[str, str, Callable[[], dict[str, float]]]] = {
    "path_logistic_20000": (
        "20 alphas of a fold, logistic, 20,000 x 50", "one fit: at most 3",
        lambda: path(20_000, "logistic"),
    ),
    "path_logistic_100000": (
        "20 alphas of a fold, logistic, 100,000 x 50", "one fit: at most 3",
        lambda: path(100_000, "logistic"),
    ),
    "path_squared_hinge_100000": (
        "20 alphas of a fold, squared hinge, 100,000 x 50", "one fit: at most 3",
        lambda: path(100_000, "squared_hinge"),
    ),
    "path_hinge_100000": (
        "20 alphas of a fold, hinge, 100,000 x 50", "one fit: at most 3",
        lambda: path(100_000, "hinge"),
    ),
    "wide_squared_hinge": (
        "squared hinge, 10,000 x 1,000", "LogisticRegression (lbfgs)",
        lambda: wide("squared_hinge"),
    ),
    "wide_hinge": (
        "hinge, 10,000 x 1,000", "LogisticRegression (lbfgs): at most 5", lambda: wide("hinge")
    ),
    "widest_squared_hinge": (
        "squared hinge, 10,000 x 10,000", "LogisticRegression (lbfgs): at most 1.5",
        lambda: wide("squared_hinge", 10_000),
    ),
    "widest_hinge": (
        "hinge, 10,000 x 10,000", "LogisticRegression (lbfgs): at most 5",
        lambda: wide("hinge", 10_000),
    ),
    "small_dense": ("hinge, 20,000 x 50", "LinearSVC: at most 1", lambda: small("dense")),
    "small_a9a": ("hinge, a9a", "LinearSVC: at most 1", lambda: small("a9a")),
    "small_text": (
        "hinge, 20,000 x 20,000 CSR", "LinearSVC: at most 1", lambda: small("text")
    ),
    "rbf_1": ("rbf `ROCSVM`, covtype, 5,000 rows, C = 1", "SVC: below 1", lambda: rbf(1.0)),
    "rbf_100": ("rbf `ROCSVM`, covtype, 5,000 rows, C = 100", "SVC: below 1", lambda: rbf(100.0)),
    "single_logistic": (
        "logistic, 20,000 x 784 in float32", "float64: at most 1", lambda: single("logistic")
    ),
    "single_squared_hinge": (
        "squared hinge, 20,000 x 784 in float32", "float64: at most 1",
        lambda: single("squared_hinge"),
    ),
    "reading_processor": (
        "CSV of 1,000,000 x 30, processor time", "pandas.read_csv: at most 1.5",
        lambda: reading(time.process_time),
    ),
    "reading_clock": (
        "CSV of 1,000,000 x 30, by the clock", "pandas.read_csv: at most 1.5",
        lambda: reading(time.perf_counter),
    ),
    "first_warm": (
        "process with its first fit, 2,000 x 10, compiled before", "import sklearn.linear_model",
        lambda: first("warm"),
    ),
    "first_cold": (
        "process with its first fit, 2,000 x 10, nothing compiled", "import sklearn.linear_model",
        lambda: first("cold"),
    ),
    "first_many_warm": (
        "process with its first fit, 20,000 x 10, compiled before", "import sklearn.linear_model",
        lambda: first("warm", 20_000),
    ),
    "first_many_cold": (
        "process with its first fit, 20,000 x 10, nothing compiled",
        "import sklearn.linear_model", lambda: first("cold", 20_000),
    ),
    "first_numba": (
        "process with one cached numba loop, nothing of everypair", "import sklearn.linear_model",
        lambda: first("numba"),
    ),
}  # fmt: skip


def child(name: str) -> None:
    warnings.simplefilter("ignore")
    print(json.dumps(MEASUREMENTS[name][2]()))


def measured(name: str, tree: Path) -> dict[str, float] | None:
    """None where that tree cannot."""
    done = subprocess.run(
        [sys.executable, "-m", "lab.benchmarks.speed", "--child", name],
        capture_output=True, text=True, check=False, cwd=HERE,
        env={**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{HERE}"},
    )  # fmt: skip
    if done.returncode:
        print(done.stderr[-500:], file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def turns(name: str, trees: dict[str, Path], n_turns: int) -> dict[str, dict[str, float]]:
    """Of each tree the least time of ours and the least time of the peer."""
    best: dict[str, dict[str, float]] = {}
    for _ in range(n_turns):
        for which, tree in trees.items():
            found = measured(name, tree)
            if found is None:
                continue
            known = best.get(which, found)
            least = found if found["ours"] <= known["ours"] else known
            best[which] = {**least, "peer": min(found["peer"], known["peer"])}
    return best


HEADER = ["what", "beside", "ratio", "seconds", "gap", "ratio before", "before / now"]


def row(name: str, found: dict[str, dict[str, float]], compared: bool) -> list[str]:
    what, beside, _ = MEASUREMENTS[name]

    def ratio(which: str) -> str:
        told = found.get(which)
        return "not measured" if told is None else f"{told['ours'] / told['peer']:.2f}"

    now, before = found.get("now"), found.get("before")
    gain = f"{before['ours'] / now['ours']:.2f}" if now and before else ""
    seconds = f"{now['ours']:.3g}" if now else ""
    gap = f"{now['gap']:.0e}" if now and "gap" in now else ""
    cells = [what, beside, ratio("now"), seconds, gap]
    return [*cells, ratio("before"), gain] if compared else cells


INTRO = """Processor time beside a peer that runs in the same process. Of several such turns the \
least time of each side counts. `python -m lab bench speed --write` writes this page; with \
`--before TREE` it also measures another tree of the project."""


HOW = """\
**Paths.** `AUCClassifierCV` with the L2 penalty solves the path of all rows first, beside that \
of a sample of a twentieth. The folds go beside the path of all rows: they begin at its solutions \
and step by its Newton matrices. On other rows a solution lies off the known one by d, and the \
gradient M d depends nearly affinely on the known solution. Where a known solution is an affine \
combination of others, by least squares in its own metric, the gradients combine likewise \
(`solvers/foretelling.py`). The alphas that no others foretell are found before any sum, and go \
first: 4 of 20 on 40,000 x 30, 8 or 9 with correlated columns. A row's slope, the mean over its \
pairs, changes little when other rows are left out. So the gradient of a fold at each solution of \
all rows is known from the slopes there, without a sum over pairs: within a tenth to a fifth in \
length. Up to 8 alphas step side by side, so that scores and gradients are products of X with a \
matrix. Twenty alphas of a fold take 50 pair sums (squared hinge 52), 13 passes over X and no \
Hessian, where they took 80 and 20 (`tests/solvers/test_ridge_path.py` counts them on 30,000 x \
30); 20 certificates alone are 40 pair sums. With correlated columns (40,000 x 40) 32 to 34 \
evaluations, where it was 38 to 41. Held-out rows are not sorted. A solution on all rows has seen \
the held-out ones: where alpha is large it is within a gap of 1e-4 of the fold's own, and its AUC \
on them was too high by up to .009 (20,000 x 50). So a fold goes on until a ten-thousandth of \
that gap is left; where an alpha was foretold, that gap is estimated with the known matrix. The \
share of a solution that others may leave untold, 1e-3, was chosen by counts on 40,000 x 30, \
60,000 x 30 and correlated 40,000 x 40, the ten-thousandth on 60,000 x 30 and on 20,000 x 50, \
which is in the table. The hinge with many rows goes the same way, by the matrices of windows of \
a sample of a tenth: on 30,000 x 30 a fold takes 58 pair sums and 15 passes, where it took 109 of \
either from alpha to alpha. The window of .25 and the tenth were chosen by counts on 30,000 x 30, \
60,000 x 30, 80,000 x 50, correlated 40,000 x 40, 40,000 x 30 with 30 % positives and 20,000 x 50 \
with another seed; on four of these, the ten tolerances within which a lagging step is taken for \
one at a corner. Where classes are all but separable (20,000 x 10, AUC .9999) a search takes 1.3 \
times as long as before. On sparse rows every alpha is first tried by ascent from zero, which on \
4,000 x 4,000 (busy machine) took up to a hundred times less than roundings from the last \
solution; where an ascent lags, these go on.

**Hinge with many rows.** The margins of n+ n- pairs lie so close together that their mean hinge \
is all but smooth. From 15,000 rows on Newton's method steps on the hinge itself; its matrix \
counts the pairs in a window around the corner, about as wide as the last step \
(`solvers/hinge_newton.py`). The multipliers are 0 and 1 and the gap is |grad P|^2 / (2 alpha), \
so no rounding is narrowed. A first solve on a fifth of the rows gives start and matrix. On \
20,000 x 50 8 steps and no Hessian of all rows follow, where 11 steps took 26 sorts, 46 walks and \
2 Hessians. Where the last steps meet corners, as with a small alpha, the hinge is rounded over a \
narrow window around its corner: its multipliers cost rho width^2 / 24, rho the density of the \
margins, and one or two steps end within the tolerance, where a series of roundings took 40 to 60 \
pair sums. Where many pairs share a margin (w8a) the gap stops shrinking, and the roundings go \
on. The widths are first guesses and were not tuned; traces of 20,000 x 50 and a9a were looked at \
beside those of other tables.

**Hinge by rows (text).** At the solution the rows at the margin are in a few ties. While these \
stay, the multiplier of each tied row has bounds of its own, and those of a tie have a fixed sum: \
the dual of a support vector machine with an intercept per tie. Coordinate ascent solves it by \
sweeps over the tied rows (`solvers/dual_ascent.py`). After some sweeps the nearest feasible \
multipliers, found by cuts of the two sorted classes (`pairs/projected.py`), give new ties and a \
certificate. Three text-like tables took 13 to 14 readings of the rows and 10 to 13 rounds, where \
the roundings took 518 products on one of them. Where rounds lag, Newton's method goes on, by \
products with the rows that have a pair in the window of the loss. Settings were chosen on 20,000 \
x 20,000 and 15,000 x 15,000 with other seeds, 8,000 x 30,000 and six Reuters topics. What the \
multipliers of a tie sum to beyond what they must is carried over from sweep to sweep (the method \
of multipliers), and a round whose dual value falls no longer leads to shorter and shorter ones. \
Fits of twelve text-like tables and of four Reuters topics with alpha 1e-3 to 1e-5, in a run that \
was not kept, took 8.4 s by the code before and 4.2 s now: seven that the ascent gave up are \
finished by it, and "grain" with alpha 1e-4 and "crude" with 1e-3 are left to Newton's method, \
which takes 4.5 and 1.4 times as long. The table's own task was among the twelve. Where the \
rows at the margin are no more than the columns, they give the solution itself \
(`solvers/corner.py`): 10,000 x 1,000 takes 15 steps where it was 58.

**As many columns as rows.** The solution is a combination of the rows with a pair short of the \
margin. Newton's system in the space of these rows is (K + alpha H^+) g = -alpha [positive]. For \
a small alpha it is nearly their Gram matrix K, so 10 to 17 products with K solve it, and whole \
steps without a line search end in the solution (`solvers/row_newton.py`). The first rows come \
from about five steps of one to three products under a falling alpha; rows that are short at the \
solution join, and K grows by what is new (`solvers/working_rows.py`). At a rough solution many \
rows are short that are not in the end, so at most 15 % join at a time. The squared hinge beside \
the 50 % of before, with other seeds: 10,000 x 10,000 takes .68 of the time and 6,000 x 6,000 \
.79; with 20 % positives, where the matrix had outgrown its worth, 3,000 x 3,000 takes .13 and \
6,000 x 6,000 .14. A fit takes about 40 passes over X where it took about 740. K is in single \
precision for the squared hinge, and each round starts from true scores. The hinge's corner uses \
the same matrix. Sparse X, and shapes where the matrix would not pay, keep the falling alphas. \
Chosen on 3,000 x 3,000, 4,000 x 4,000 and 3,000 x 2,000; that alpha falls by 4, not by 8, on \
10,000 x 10,000 with another seed; the 15 % on 4,000 x 4,000, 3,000 x 2,000 and 6,000 x 6,000 \
with other seeds.

**Kernels.** A Hessian over a kernel's features read every row in double precision as soon as a \
quarter of them were in the window: 340 ms at 20,000 x 512, where a step takes 14 ms. It now \
reads the window's rows in single precision; scores, gradient and certificate stay in double. rbf \
values take one compiled pass (7.8 ns each in place of 13.9). The rank stops where little is left \
to gain per pair ([kernels](kernels.md)). Scores and gradients are products with the kernel's \
values and the inverse of the pivots' Cholesky factor: no triangular solve over all rows is made, \
and a bound on what this rounds is part of the gap. The matrix of the sample that chooses the \
pivots serves all rows until a step gains too little by it: at C = .01 (covtype 5 and 7) no \
Hessian of all rows is made. A solution of the sample, or of fewer pivots, begins with its own \
rounding where its gap is below 1, and otherwise with one that is four times as wide, or more for \
gaps above 100. A choice by the gap leads back to the widest rounding: on covtype 3, 4, 6 and 7 \
with 20,000 rows and letters H and S with 14,000, C = 1 and 10, that takes 1.3 times the steps; \
at C = 100 it takes as many. Such a start is rounded to both sides of the corner, where the \
solution moves with the square of the width, unless the classes are all but separated. Gradients \
pass over the rows without a multiplier. The loop over the others adds several columns at once: \
14 to 4.5 ms for 10,000 rows of 512 columns on one thread. Its two indices in one pair of \
brackets had kept the compiler from that, since either might count from the end. Windows of a \
Hessian are summed in threads. Operands of single precision are rounded to multiples of 9e-19: \
subnormal products, from one entry in 200, made a Gram matrix take four times as long. The last \
roundings are narrower by 2 to 2.5 each, not by 4: with few pairs at the margin fewer steps are \
cut short. From 40,000 rows on, 20,000 are solved for first, and their Hessian serves all rows \
until it has gained too little. In scratch runs that are not kept, 100,000 rows took .45 to .8 of \
the time of before on covtype 2 and 5 (C = .1 and 1), .3 on covtype 5 at C = 10, where features \
of 0.5 to 1 GB stay in double precision now, and 1.1 on covtype 7 at C = 10.

**Rows without a multiplier.** Where rows have 200 columns or more and at most .6 of them have a \
multiplier, the others are not read. On 8,000 x 800 the median share of a hinge fit was .14.

**Climbs.** `RankOptCV` climbs by an L-BFGS of its own, which keeps what it learnt of the \
curvature at the radius before and looks at no point twice: .65 of the evaluations (84 splits of \
28 tasks, other splits than the table's) at the same test AUC (mean difference -.00001, worst \
-.00125). Where positives are few, every pair is summed by itself; the radius is found by one \
compiled walk. Together .42 of the processor time on these splits.

**Boxes.** From 80 Chebyshev boxes on, four are merged into one of width 1 with 14 coefficients: \
half the time of a field or less, the same digits.

**First fit.** `--only first` measures a process with its first fit, and one that imports \
scikit-learn and runs one cached numba loop and nothing of everypair. Tables of up to 2,500 rows \
and 131,072 entries are summed in NumPy (`linalg/few_rows.py`), so a first fit on 2,000 x 10 with \
the logistic loss loads no numba, whether or not anything is compiled. Later fits on 2,000 x 10 \
and 2,000 x 50 take 1.0 to 1.14 times their former time (least and median of 150 to 200 turns on \
a busy machine), `cross_val_score` 1.02 to 1.09, `AUCClassifierCV` 1.1 to 1.2. Scores that reach \
over more than 16 units, other losses than the logistic one, sparse X and larger tables load \
numba: .7 s, and 4 ms per loop; where nothing is compiled, about ten loops are, for 4 to 7 s. \
`everypair warm-up` spares that compilation.

**CSV.** A file is read in segments of 16 MB side by side, each with the types that it finds. \
Each looks for quotation marks itself, which spares a pass over the file; where there is one, the \
file is read as a whole. If it stands at the end of 85 MB, that takes 1.6 times the processor \
time of before. Given a whole file, Arrow keeps every block that it has parsed, in case a later \
value changes a type: 870 MB for 10^6 x 30, where it is 517 MB now. A column whose type differs \
between segments is read again as a whole, which costs 20 to 50 % of processor time where that \
happens. Blocks of 1 MB stay in a core's cache between Arrow's parser and its conversion. In \
turns on 200,000 x 30: 8 MB 2.4 times `pandas.read_csv`, 2 MB 2.0, 1 MB 1.3 (medians of 7). With \
500 columns 8 MB are faster by a fifth.

**float32.** Scores of dense rows in single precision widen numbers as they are read, where each \
block was widened by itself before: .95 and 1.07 times float64 on the page before.

**Noise.** Two turns of the script on a machine that did nothing else, with one thread of BLAS \
and of everypair; of first fits and CSV two turns with both cores. Ratios are of the least time \
of each side. They differ by a tenth or two between runs, and by more between machines: on \
10,000 x 10,000 the squared hinge took 1.07 times lbfgs on the machine of the page before."""

TRIED = """\
- The logistic rounding of the hinge instead of the quadratic one: 46 to 53 Newton steps where the \
quadratic one takes 58 to 79, each dearer. Dropped.
- Solving the rows at the margin alone, in a factor of their Gram matrix: no faster than Hessians \
over the same rows, and on 10,000 x 10,000 more than a quarter of the rows are at the margin. \
Dropped.
- A sample of a fifth instead of a twentieth on paths: fewer steps, more time.
- Folds of fewer than 15,000 rows beside the path of all rows: matrices at all alphas cost more \
than the steps that they save. Matrices of all rows instead of a sample's: 40 pair sums for 43. \
Other orders of the alphas: within a tenth.
- L-BFGS for the squared hinge on 2,000 x 2,000, with 10 or 30 pairs: after 600 steps and 1,200 \
passes a gap above 1 was left, where Newton's method takes 400 to 450 passes (1,500 and 2,500 \
rows). It steps to the corner of every pair, too. Its line search was a simple one, and falling \
alphas were not tried with it.
- Newton's system in the space of the rows, preconditioned by the curvature of the pairs, on 1,500 \
x 1,500: 21 products where 61 were needed, but 16 where 6 were; 274 for 393 in all, and each with \
an inner solve. Window rows in single precision: 8 % less time on 6,000 x 6,000. Another first \
alpha: 368 passes for 400, or no convergence.
- Falling alphas for the hinge on 5,000 x 500: 62 steps in place of 50. No trust region and finer \
conjugate gradients for every hinge: on 20,000 x 20,000 CSR 2,400 passes in place of 730.
- Roundings that narrow by 8 or 10 instead of 4: 62 steps for 50 on 5,000 x 500; on 20,000 x 50 \
three sorts of 21 less.
- Steps on the hinge itself below 15,000 rows: .45 to 1.81 times the time of the roundings. A \
preconditioner with the exact Hessian block of the 100, 300 or 1,000 heaviest columns on text: \
165, 163 and 146 products where Jacobi needs 163. The corner by conjugate gradients over tied \
rows: 54 to 60 products for the first round, after which a tie lost one class. Roundings of text \
by 3, 2 and 1.6 (15,000 x 15,000): 603, 885 and 508 products, 506 by 2.5.
- The rows that count as a Cholesky triangle under Newton-CG: 434 products, and no convergence \
after rows joined at the last alpha (3,000 x 3,000). A line search along steps in the space of \
rows solved to a residual of .1: steps of length .005. Alpha falling by 8: a third fewer passes, \
but too few rows on 10,000 x 10,000. Only the most short 30 % as first rows: fails on 3,000 x \
2,000 with 30 % positives.
- Polynomials in log alpha of M d instead of affine combinations; a larger alpha among nearly \
equal ones first (31 to 45 evaluations of a fold for 27 to 32); 16 alphas at once: no faster than \
8.
- Text: an augmented Lagrangian with semismooth Newton steps over the tied rows took 795 readings \
of the rows on 15,000 x 15,000, where sweeps take 13. Conjugate gradients on the tied rows between \
rounds: a gap of 1.3e-5 after 15 rounds, 3.6e-6 by sweeps alone.
- Paths: Hessians of all rows at two alphas, the others corrected by them: 28 to 36 evaluations of \
a fold for 28 to 41, and a Hessian costs 2.4 to 3 of them.
- Climbs: from the mean of the folds' directions .97 of the evaluations; log(1 - R) 1.03; all rows \
as one group no faster, and a fresh installation compiles for 33 s.
- Kernels: the Hessian of the sample that chooses the pivots, for all rows: 500 steps were not \
enough at C = 100; until it has gained too little once, twice or three times: no faster at C = 10 \
and 100. Hessians of a window wider than the rounding: 66 where it was 37 (C = 100).
- A kernel of its own for groups in boxes: the first grouped fit compiles for 31 s in place of 47, \
but curvatures of groups of 20,000 rows took 1.5 times as long.
- Ranks of kernels in steps of sqrt(2) or 4; rough solves to 1e-2; a second array of features in \
single precision.
- Paths of the hinge: matrices at the width of the last step, 144 sorts of a fold in place of 32; \
the value of the hinge with a rounded gradient in the line search, where steps stall; a sample of \
a fifth, no faster.
- Kernels: starts at 1, 4, 8 and 16 times their own width (covtype 7, C = 100) 32, 26, 42 and 28 \
steps; at 4 times the fourth root of the gap 29. CSV: types guessed from the first rows, the whole \
file mapped, other memory pools, segments of 1, 2 or 4 MB read into memory that is used again.
- First fits: every pair in NumPy by the definition takes 32 ms for a value and a gradient on \
2,000 rows, where a whole fit takes 5 ms. Up to 4,096 rows in NumPy: fits on 4,000 x 30 took 1.2 \
to 1.3 times as long. Fields of few boxes through windows as wide as the grid: 1.5 times the time \
of sums near and far; one matrix for all boxes takes .5 to .9 of it."""

NOT_REACHED = """\
- rbf kernels with 10^5 rows below SVC at 20,000 and the same C, C = .1 aside, where it is as \
long ([kernels with many rows](kernels.md) has the five ratios). Of .71 s at C = 1, in a traced \
run, the kernel's values take .11 s, the sample that chooses the pivots .20 s, the solve of \
20,000 rows .12 s, and seven products with all rows, with what belongs to them, .24 s: they read \
.5 GB each, at the speed of the memory. Of 3.2 s at C = 100 a Hessian of all rows takes .6 s, a \
second .2 s, eleven of 20,000 rows .9 s. No bound says that this is all. 10,000 rows instead of \
20,000 would save .1 s at C = 1, and take two to three times as long on covtype 2, where the \
Hessian of so few rows serves all rows badly; the Hessian of the 20,000 as a preconditioner of \
products with all rows takes .8 to 1.6 times as long. First pivots of 256 instead of 128 would \
save .1 s and lose .001 of the AUC on covtype 1 and 2 at C = 10. At 5,000 rows none is below \
SVC; the two of this page took 1.2 and .9 times SVC when the default took 600 pivots at most, \
and lost up to .0065 of the AUC.
- The default rank quite as good as the whole kernel: on 4,000 rows of six tasks the test AUC is \
lower by .0003 in the mean and .0011 at worst. `max_rank=None` takes the whole kernel, `max_gap` \
as many pivots as a stated gap needs.
- 85 % of two threads, by the clock: `X @ w` alone has 77 % on the machine of [that \
page](threads.md), where the logistic fit has 70 % (77 % of the processor time of the thread).
- First fits that need numba: 1.9 s where all is compiled, .7 s beyond scikit-learn's import; \
numba with one cached loop alone takes .6 s of that. 3.7 s where nothing is compiled. The first \
fit inside groups with the logistic loss compiles for about 27 s, the first `RankOpt` for 13 s.
- Not measured again: `MeasureSVM` at 10^6 rows."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", help="beginnings of names")
    parser.add_argument("--before", type=Path, help="another tree of the project")
    parser.add_argument("--cache", type=Path, help="keep what was measured in this file")
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--child", choices=MEASUREMENTS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        child(given.child)
        return
    kept = json.loads(given.cache.read_text()) if given.cache and given.cache.exists() else {}
    trees = ({"before": given.before} if given.before else {}) | {"now": HERE}
    wanted = [
        name for name in MEASUREMENTS
        if not given.only or name.startswith(tuple(given.only))
    ]  # fmt: skip
    page, rows = Page("speed", "The speed frontier", INTRO), []
    for name in wanted:
        if name not in kept:
            kept[name] = turns(name, trees, given.turns)
            if given.cache:
                given.cache.write_text(json.dumps(kept, indent=1))
        rows.append(row(name, kept[name], bool(given.before)))
        print(" | ".join(rows[-1]), flush=True)
    page.add("Ratios", markdown_table(HEADER if given.before else HEADER[:5], rows))
    for heading, text in (("How", HOW), ("Tried and dropped", TRIED), ("Not reached", NOT_REACHED)):
        page.add(heading, text)
    if given.write:
        page.write()


if __name__ == "__main__":
    main()
