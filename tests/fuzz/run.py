"""Try broken files on the command line: each must end in a result or in one sentence.

    python tests/fuzz/run.py --seconds 600 --seed 1

Each case runs in a process of its own, with a limit on time and on memory. A case ends well with
exit code 0, or with code 2 and one line of error. Everything else is printed and the file is kept.
"""

from __future__ import annotations

import os

if __name__ == "__main__":  # threads do not live on in a fork
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", NUMBA_NUM_THREADS="1")

import argparse
import io
import math
import resource
import signal
import sys
import tempfile
import time
from contextlib import redirect_stdout, suppress
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import cases
import numpy as np

SECONDS, MEGABYTES = 20, 1500
"""For one case, of small files: processor time; memory beyond the process that starts it."""

STUCK = 15
"""A command may take so many times its processor seconds on a busy machine before it is stuck."""

TOO_SLOW = (signal.SIGKILL, signal.SIGXCPU)


def outcome(arguments, folder):
    """Exit code (negative: the signal) and what was said."""
    said = folder / "said"
    child = os.fork()
    if child == 0:
        _limit()
        _command(arguments, said)
    until = time.monotonic() + STUCK * SECONDS
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
    return os.waitstatus_to_exitcode(status), said.read_text(errors="replace")


def _limit():
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEGABYTES * 2**20
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _command(arguments, said):
    from everypair.app.cli.app import main

    code = 99
    try:
        for stream, path in ((1, os.devnull), (2, said)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), stream)
        sys.argv = ["everypair", *map(str, arguments)]
        main()
    except SystemExit as leaving:
        code = int(leaving.code or 0)
    except BaseException as trouble:
        print(f"escaped: {trouble!r}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def trouble_with(code, said):
    """What is wrong with this ending, or nothing."""
    lines = [line for line in said.splitlines() if not line.startswith("note: ")]
    if code < 0:
        return f"ended by signal {-code}" + (" (too slow)" if -code in TOO_SLOW else "")
    if code not in (0, 2):
        return f"exit code {code}: {lines[-1] if lines else ''}"
    errors = [line for line in lines if line.startswith("everypair: ")]
    if code == 2 and (len(errors) != 1 or lines[-1] != errors[0]):
        return f"exit code 2 with {len(errors)} sentences: {said[:300]!r}"
    return ""


def commands(seed, folder):
    """Known cases first, then mutations without end: (name, file, arguments)."""
    for name, content in cases.good_tables().items():
        (folder / name).write_bytes(content)
    for name, content in cases.good_models().items():
        (folder / f"{name}.everypair").write_bytes(content)
        table = folder / cases.table_for(name)
        yield f"good {name}", table, ("score", folder / f"{name}.everypair", table)
    case = folder / "case.everypair"
    for name, content in cases.known_models().items():
        case.write_bytes(content)
        yield name, case, ("score", case, folder / "rows.csv")
    fit = ("-o", folder / "out", "--method", "auc-rls")
    for name, content in cases.known_tables().items():
        path = folder / f"case-{name}"
        path.write_bytes(content)
        target = () if name.endswith("svm") else ("-t", "y")
        yield name, path, ("fit", path, *target, *fit)
    models, tables = list(cases.good_models()), list(cases.good_tables())
    for k in count():
        rng = np.random.default_rng([seed, k])
        if k % 3:
            name = models[int(rng.integers(len(models)))]
            case.write_bytes(cases.mutated_model(rng, cases.good_models()[name]))
            table = folder / cases.table_for(name)
            command = ("explain", case) if rng.random() < 0.1 else ("score", case, table)
            yield f"{seed}:{k} {name}", case, command
            continue
        name = tables[int(rng.integers(len(tables)))]
        path = folder / f"case-{name}"
        path.write_bytes(cases.mutated_bytes(rng, cases.good_tables()[name]))
        fitted = {"rows.svm": "sparse", "wide.csv": "wide"}.get(name, "linear")
        target = () if name.endswith("svm") else ("-t", "y", "--positive", "yes")
        command = [
            ("score", folder / f"{fitted}.everypair", path),
            ("evaluate", folder / f"{fitted}.everypair", path),
            ("fit", path, *target, *fit),
        ][int(rng.integers(3))]
        yield f"{seed}:{k} {name}", path, command


def _warm_up():
    """Each command once before the forks, so that a case costs no more than its own work."""
    from everypair.app.cli.app import main

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "t.csv").write_bytes(cases.good_tables()["rows.csv"])
        model, table = folder / "m", folder / "t.csv"
        for arguments in (
            ("fit", table, "-t", "y", "-o", model, "--method", "auc-rls", "--quiet"),
            ("score", model, table, "-o", folder / "s.csv", "--quiet"),
            ("evaluate", model, table, "--json"),
        ):
            sys.argv = ["everypair", *map(str, arguments)]
            with redirect_stdout(io.StringIO()), suppress(SystemExit):
                main()


def run(seconds, seed, keep, most=math.inf):
    """The number of cases that ended badly."""
    began, bad, tried, refused, mutations = time.monotonic(), 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for case, file, arguments in commands(seed, folder):
            code, said = outcome(arguments, folder)
            wrong = trouble_with(code, said)
            if case.startswith("good") and code != 0:
                wrong = wrong or f"a good file was refused: {said}"
            tried, refused = tried + 1, refused + (code == 2)
            if wrong:
                bad += 1
                keep.mkdir(parents=True, exist_ok=True)
                kept = keep / f"{bad}-{file.name}"
                kept.write_bytes(file.read_bytes())
                shown = " ".join(str(a).replace(str(folder), "") for a in arguments)
                print(f"{case}: {wrong}\n    everypair {shown}\n    kept as {kept}", flush=True)
            mutations += ":" in case
            if mutations and (time.monotonic() - began > seconds or mutations >= most):
                break
    print(f"{tried} cases, {refused} refused, {bad} ended badly (seed {seed})")
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cases", type=int, default=math.inf, help="Mutations at most.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--keep", type=Path, default=Path("fuzz-found"), help="Folder for bad cases."
    )
    given = parser.parse_args()
    _warm_up()
    sys.exit(1 if run(given.seconds, given.seed, given.keep, given.cases) else 0)


if __name__ == "__main__":
    main()
