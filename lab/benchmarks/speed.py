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


def processor_time(
    work: Callable[[], object], repeats: int = 3, first: Callable[[], object] | None = None
) -> float:
    """The least of several runs, after one that is not timed: ``first``, or the work itself."""
    (first or work)()
    found = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def linear(X, y, loss: str, peer, repeats: int = 3, alpha: float = 1e-3) -> dict[str, float]:
    from everypair import AUCClassifier

    model = AUCClassifier(loss, alpha=alpha, threshold=0.0)
    few = np.concatenate([np.flatnonzero(y)[:100], np.flatnonzero(~np.asarray(y, bool))[:200]])
    ours = processor_time(lambda: model.fit(X, y), repeats, lambda: model.fit(X[few], y[few]))
    return {
        "ours": ours,
        "peer": processor_time(lambda: peer.fit(X, y), repeats),
        "gap": float(model.dual_gap_),
        "steps": int(model.n_iter_),
    }


def path(n_rows: int, loss: str) -> dict[str, float]:
    """20 alphas in five folds and on all rows, by processor time of one fit and path."""
    from everypair import AUCClassifier, AUCClassifierCV
    from lab.benchmarks.core import dense_data

    X, y = dense_data(n_rows, 50)
    search = AUCClassifierCV(loss, n_alphas=20, cv=5, threshold=0.0)
    ours = processor_time(lambda: search.fit(X, y), 2)
    one = processor_time(lambda: AUCClassifier(loss, threshold=0.0).fit(X, y))
    return {"ours": ours / 6, "peer": one, "gap": float(search.dual_gaps_.max())}


def wide(loss: str, n_columns: int = 1000) -> dict[str, float]:
    from sklearn.linear_model import LogisticRegression

    from lab.benchmarks.core import dense_data

    X, y = dense_data(10_000, n_columns)
    peer = LogisticRegression(C=1 / (1e-3 * y.size), max_iter=1000, tol=1e-6)
    return linear(X, y, loss, peer, 1)


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
    return linear(X, y, "hinge", peer, 3, alpha)


def rbf(C: float, n_rows: int = 5000) -> dict[str, float]:
    """C of SVC per row, which is what C of a pair becomes (`lab/benchmarks/rocsvm.py`)."""
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    from everypair import ROCSVM
    from lab.benchmarks.rocsvm import covtype, matching

    X, y = covtype(n_rows, 0)
    X = StandardScaler().fit_transform(X)
    model = ROCSVM(C=matching(y, C), threshold=0.0)
    ours = processor_time(lambda: model.fit(X, y), 1, lambda: model.fit(X[:300], y[:300]))
    return {
        "ours": ours,
        "peer": processor_time(lambda: SVC(C=C, cache_size=500).fit(X, y), 1),
        "gap": float(model.dual_gap_),
    }


def single(loss: str) -> dict[str, float]:
    """float32 beside float64 of the same rows: 20,000 x 784."""
    from everypair import AUCClassifier
    from lab.benchmarks.core import dense_data

    X, y = dense_data(20_000, 784)
    model, narrow = AUCClassifier(loss, threshold=0.0), X.astype(np.float32)
    ours = processor_time(lambda: model.fit(narrow, y), 2)
    gap = float(model.dual_gap_)
    return {"ours": ours, "peer": processor_time(lambda: model.fit(X, y), 2), "gap": gap}


def reading(n_rows: int = 1_000_000) -> dict[str, float]:
    import pandas as pd

    from everypair.app.files.readers import Source, read

    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "table.csv"
        table = pd.DataFrame(rng.standard_normal((n_rows, 30)).round(6)).add_prefix("x")
        table.to_csv(where, index=False)
        ours = processor_time(lambda: read(Source(where)))
        return {"ours": ours, "peer": processor_time(lambda: pd.read_csv(where))}


DATA = (
    "import numpy as np; r = np.random.default_rng(0); X = r.standard_normal((2000, 10)); "
    "y = X[:, 0] + r.logistic(size=2000) > 1; "
)
FIRST_FIT = DATA + "from everypair import AUCClassifier; AUCClassifier().fit(X, y)"
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


def first(kind: str) -> dict[str, float]:
    """A whole process with its first fit, beside `import sklearn.linear_model`."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "numba":
            (Path(folder) / "one_loop.py").write_text(ONE_LOOP)
            code = NUMBA.format(folder=folder)
            of_process(code)
            ours = min(of_process(code) for _ in range(3))
        elif kind == "cold":
            ours = of_process(FIRST_FIT, NUMBA_CACHE_DIR=folder)
        else:
            of_process(FIRST_FIT)
            ours = min(of_process(FIRST_FIT) for _ in range(3))
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
    "reading": ("CSV of 1,000,000 x 30", "pandas.read_csv: at most 1.5", reading),
    "first_warm": (
        "process with its first fit, compiled before", "import sklearn.linear_model",
        lambda: first("warm"),
    ),
    "first_cold": (
        "process with its first fit, nothing compiled", "import sklearn.linear_model",
        lambda: first("cold"),
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
    """Of each tree the turn with the least ratio to the peer."""
    best: dict[str, dict[str, float]] = {}
    for _ in range(n_turns):
        for which, tree in trees.items():
            found = measured(name, tree)
            if found is None:
                continue
            known = best.get(which)
            if known is None or found["ours"] < known["ours"]:
                best[which] = found
    return best


def row(name: str, found: dict[str, dict[str, float]]) -> list[str]:
    what, beside, _ = MEASUREMENTS[name]

    def ratio(which: str) -> str:
        told = found.get(which)
        return "not measured" if told is None else f"{told['ours'] / told['peer']:.2f}"

    now, before = found.get("now"), found.get("before")
    gain = f"{before['ours'] / now['ours']:.2f}" if now and before else ""
    seconds = f"{now['ours']:.3g}" if now else ""
    gap = f"{now['gap']:.0e}" if now and "gap" in now else ""
    return [what, beside, ratio("before"), ratio("now"), gain, seconds, gap]


INTRO = """Processor time beside a peer in the same process and turn; the least of the turns. \
`python -m lab bench speed --before TREE --write` writes this page. The column "before / now" \
compares the processor time of both trees."""


HOW = """\
**Paths.** `AUCClassifierCV` with the L2 penalty solves the path of all rows \
first, beside that of a sample of a twentieth. The folds go beside the path of \
all rows: they begin at its solutions and step by its Newton matrices, every \
fourth alpha first, and the distances found there foretell the others in log \
alpha (`solvers/path_beside.py`). Up to 8 alphas step side by side, so that \
scores and gradients are products of X with a matrix. Twenty alphas of a fold \
took 60 passes over X and 60 pair sums one after the other; they take 20 passes, \
80 pair sums and no Hessian (`tests/solvers/test_ridge_path.py` counts them). A \
solution on all rows has seen the held-out ones: where alpha is large it is within \
a gap of 1e-4 of the fold's own, and its AUC on them was too high by up to .009 \
(20,000 x 50). So a fold goes on until a ten-thousandth of that gap is left. In a \
fold of three tables the AUC then differs from that of exact fits by at most \
.0001; the former way, at a gap of 1e-4 from its own start, by up to .0023. The \
order of the alphas and that share were chosen by counts on 20,000 x 50, which is \
in the table above, and on 40,000 x 30 and 60,000 x 30, which are not (the share \
on 60,000 x 30 alone of these).

**Hinges.** Hessians and their products read the rows that have a pair in the \
window of the loss (`tests/solvers/test_curved_rows.py` counts), and touch nothing \
else. The line through the solutions of two roundings, followed to the width zero, \
gives the coefficients: on text 32 steps and 790 products where it was 45 and \
1,813. Where the rows at the margin are no more than the columns, they give the \
solution itself (`solvers/corner.py`, `tests/solvers/test_corner.py` counts): \
10,000 x 1,000 takes 15 steps where it was 58, and 10,000 x 10,000 takes 18 steps \
where 100 left a gap of 7e-5. Chosen on 5,000 x 500 and 3,000 x 3,000. In the same \
hour and before these changes the ratios were 5.4 (10,000 x 1,000), 1.94 \
(20,000 x 50), 1.99 (a9a) and 18.0 (CSR), by the least of two turns with two \
threads.

**As many columns as rows.** Some w ranks every pair with a margin of one, and \
the penalty is all that is left of the objective. From w = 0 Newton's method \
stepped right to the corner of every pair; later steps had to be cut short, and \
the trust region stayed as small as they were. Now alpha falls to the one asked \
for by factors of 4 (`solvers/falling_alpha.py`), each solution foretells the \
next, and no region is used. Chosen on 3,000 x 3,000: 26 steps and 503 passes \
over X, where 40 steps left a gap of 1.5. On 10,000 x 10,000: 25 steps.

**First fit.** `--only first` measures a process with its first fit, and one that \
imports scikit-learn and runs one cached numba loop and nothing of everypair. A \
profile of a first fit on 2,000 x 10 has .74 of its 1.03 s inside numba, which \
loads its registries at the first cached loop: scikit-learn's time and .2 s are \
out of reach while a fit uses numba. `everypair warm-up` spares the compilation.

**CSV.** Blocks of 1 MB stay in a core's cache between Arrow's parser and its \
conversion. In turns on 200,000 x 30: 8 MB 2.4 times `pandas.read_csv`, 2 MB 2.0, \
1 MB 1.3 (medians of 7). With 500 columns 8 MB are faster by a fifth.

**Noise.** All lines are of one run of the script, one turn each, on a machine \
that did nothing else, with one thread of BLAS and of everypair."""

TRIED = """\
- The logistic rounding of the hinge instead of the quadratic one: 46 to 53 \
Newton steps where the quadratic one takes 58 to 79, each dearer. Dropped.
- Solving the rows at the margin alone, in a factor of their Gram matrix: no \
faster than Hessians over the same rows, and on 10,000 x 10,000 more than a \
quarter of the rows are at the margin. Dropped.
- A sample of a fifth instead of a twentieth on paths: fewer steps, more time.
- Folds of fewer than 15,000 rows beside the path of all rows: matrices at all \
alphas cost more than the steps that they save. Matrices of all rows instead of a \
sample's: 40 pair sums for 43. Other orders of the alphas: within a tenth.
- L-BFGS for the squared hinge on 2,000 x 2,000, with 10 or 30 pairs: after 600 \
steps and 1,200 passes a gap above 1 was left, where Newton's method takes 400 to \
450 passes (1,500 and 2,500 rows). It steps to the corner of every pair, too. Its \
line search was a simple one, and falling alphas were not tried with it.
- Newton's system in the space of the rows, preconditioned by the curvature of \
the pairs, on 1,500 x 1,500: 21 products where 61 were needed, but 16 where 6 \
were; 274 for 393 in all, and each with an inner solve. Window rows in single \
precision: 8 % less time on 6,000 x 6,000. Another first alpha: 368 passes for \
400, or no convergence.
- Falling alphas for the hinge on 5,000 x 500: 62 steps in place of 50. No trust \
region and finer conjugate gradients for every hinge: on 20,000 x 20,000 CSR \
2,400 passes in place of 730.
- Roundings that narrow by 8 or 10 instead of 4: 62 steps for 50 on 5,000 x 500; \
on 20,000 x 50 three sorts of 21 less."""

NOT_REACHED = """\
- 20 alphas of a fold within three fits: 4.3 and 5.5 for the logistic loss, 3.8 \
for the squared hinge. Each alpha \
needs a value and a gradient over all pairs for its certificate, and so does a \
step before it: 80 sums in all, where a fit has 11 to 13.
- Squared hinge on 10,000 x 10,000 within 1.5 times `LogisticRegression`: 11 \
times. lbfgs takes 30 steps, about 66 passes over X, so 1.5 times its time is \
100 passes. At the solution a third of the rows is in the window and the \
eigenvalues of their Newton system reach from .06 to 17 (measured on 3,000 x \
3,000): conjugate gradients need 65 products for two digits and 95 for four, \
which is 43 to 63 passes over X for one Newton step. So 100 passes are two steps \
of this method, which takes 25 in all, most of them cheaper. A preconditioner by \
the curvature of the rows made it 123 products.
- Hinge on 10,000 x 10,000 within 5 times `LogisticRegression`: 7.0 times. About \
20 of its 27 s are the way to a first solution, whose alpha falls step by step; \
the corner itself takes 6 s, most of it the products of 3,250 rows with each other.
- Hinge on 10,000 x 1,000 under a second: 1.3 s with one thread.
- Hinge on small and sparse data within the time of LinearSVC: 1.5, 1.7 and 6.5 \
times. On the CSR rows 600 positives lie at one level and 2,700 negatives at \
another, so their matrix would cost more than the 790 products that are left.
- rbf kernels below SVC at every C: 1.7 and 2.0 times on 5,000 rows. [Kernels with \
many rows](kernels.md) has 10^5 and 10^6 rows.
- First fit in a compiled process: .9 s more than scikit-learn's import, where .2 s \
was asked; numba alone, with one cached loop and nothing of everypair, is .8 s more.
- RankOptCV beside the tuned logistic search, one split of at most 4,000 rows of \
each of the 66 tasks, the least of three turns \
([table](rankopt.md)): 0.86 times in the median (at most 1.0 was asked), \
4 tasks above 2.0, at worst 2.94 times (covtype 2). There a climb at a \
large radius is tried in every fold; sums over its many boxes were the largest \
part and take a half to a third of what they took (the worst was 4.4 before).
- Not measured again: the pages of the peers, `MeasureOpt`. [One thread and \
two](threads.md) has the threads.
- 20 alphas of the hinge on sparse X: paths of the hinge start each alpha from \
the last solution, as before."""


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
        rows.append(row(name, kept[name]))
        print(" | ".join(rows[-1]), flush=True)
    header = [
        "what", "beside", "ratio before", "ratio now", "before / now", "seconds now", "gap"
    ]  # fmt: skip
    page.add("Ratios", markdown_table(header, rows))
    for heading, text in (("How", HOW), ("Tried and dropped", TRIED), ("Not reached", NOT_REACHED)):
        page.add(heading, text)
    if given.write:
        page.write()


if __name__ == "__main__":
    main()
