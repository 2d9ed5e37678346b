"""``reproduce(table)``: work off the cells of a table, then write its page."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from lab.papers.kept import Found, Params, Store, run_cells
from lab.papers.paper_page import PaperPage

TABLES = {
    "auc-rls": "AUC-RLS (Pahikkala et al. 2008), Table 1: Reuters, 25 topics",
    "cpauc": "CPAUC (Kim & Shin 2024), Tables 1-3, Figures 1, 2: simulated data and Pima",
    "rankopt": "RankOpt (Herschtal & Raskutti 2004), Figures 1, 2",
    "rocsvm": "ROC-SVM (Rakotomamonjy 2004), Tables 2, 3, Figures 2-5",
    "svm-multi": "SVM-multi (Joachims 2005), Table 1, Figure 1",
    "overall": "Every method and strong baselines on all binary data sets",
}
"""What `reproduce` knows, and what it is."""

RESULTS = Path("lab/papers/results")


class Experiment(Protocol):
    """What a module of a table has."""

    def settings(self, fast: bool) -> Params:
        """What holds for every cell; other settings make another experiment."""

    def cells(self, fast: bool) -> list[Params]:
        """The cells, cheapest first."""

    def work(self, params: Params) -> Found:
        """What one cell finds: numbers, lists and words."""

    def write(self, page: PaperPage, store: Store, done: list[tuple[Params, Found]]) -> None:
        """Fill the page from the finished cells."""


def reproduce(
    table: str,
    fast: bool = False,
    results: Path | str = RESULTS,
    *,
    render_only: bool = False,
    quiet: bool = False,
) -> Path:
    """Run a table of a paper again and write it beside the printed values.

    Parameters
    ----------
    table : str
        One of `TABLES`.
    fast : bool
        Few repetitions, into the folder ``fast`` of the results: shows that all runs, in a minute.
    results : path
        ``<table>.json`` keeps what each cell found, and a later call goes on from there;
        ``<table>.md`` and figures are the page. Cells of other settings, such as with a baseline
        more, are put aside beside it and found again.
    render_only : bool
        Write the page from the cells that are there, and run none.
    quiet : bool
        No progress bar.

    Returns
    -------
    Path
        The page.
    """
    if table not in TABLES:
        raise ValueError(f"table={table!r} is not known: use one of {', '.join(TABLES)}.")
    module = import_module(f"lab.papers.{table.replace('-', '_')}")
    return run(module, table, fast, Path(results), render_only, quiet)


def run(
    experiment: Experiment | Any,
    name: str,
    fast: bool,
    results: Path,
    render_only: bool = False,
    quiet: bool = False,
) -> Path:
    folder = results / "fast" if fast else results
    store = Store(folder / f"{name}.json", experiment.settings(fast), as_kept=render_only)
    wanted = experiment.cells(fast)
    if not render_only:
        run_cells(experiment.work, wanted, store, what=name, quiet=quiet)
    done = store.done(wanted)
    if render_only and not done:
        raise ValueError(f"{store.path} has no finished cell of this table: run it first.")
    page = PaperPage(folder, name, TABLES.get(name, name), (experiment.__doc__ or "").strip())
    if done:
        experiment.write(page, store, done)
    page.close(store, len(wanted), done)
    return page.write()
