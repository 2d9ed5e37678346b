"""Public data sets: found on this machine, else downloaded once and checked.

A file is looked for in ``$EVERYPAIR_DATA``, then in the user's cache; else it is downloaded from
its public home into the cache with pooch. Whatever the way, its content must have the sha256
that `lab.data.sources` pins. No data set comes with the library.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.data.sources import SOURCES

FOLDER_VARIABLE = "EVERYPAIR_DATA"

UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".xz": lzma.decompress,
    ".gz": gzip.decompress,
}


class DataNotFound(OSError):
    """A data set is neither on this machine nor to be had from the network."""


class Dataset(NamedTuple):
    """``X`` (dense or CSR), the labels ``y`` as the source has them, and the columns' names."""

    X: Any
    y: NDArray[Any]
    feature_names: list[str]


def fetch(name: str) -> Dataset:
    """A public data set by name, as numbers.

    Columns of words are one-hot encoded; gaps become the column's median and a flag. The rows are
    in the order of the source, training rows before test rows.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    Dataset
        ``(X, y, feature_names)``. The arrays are shared between calls and read-only.

    Raises
    ------
    DataNotFound
        When the files are not on this machine and cannot be downloaded; says what to do.

    Examples
    --------
    >>> from lab.data.fetchers import fetch
    >>> X, y, feature_names = fetch("pima")  # doctest: +SKIP
    >>> X.shape, feature_names[1]  # doctest: +SKIP
    ((768, 8), 'glucose')
    """
    if name not in READERS:
        raise ValueError(f"name={name!r} is not a data set: use one of {', '.join(READERS)}.")
    return _read(name)


def names() -> list[str]:
    """The data sets that `fetch` knows."""
    return list(READERS)


@cache
def _read(name: str) -> Dataset:
    data = READERS[name]()
    for array in (data.X, data.y, getattr(data.X, "data", None)):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return data


def read_file(path: str) -> bytes:
    """The unpacked content of a file of `lab.data.sources`."""
    found = _on_this_machine(path)
    if found is not None:
        return _unpacked(found, path)
    return _unpacked(_downloaded(path), path)


def _folders() -> list[Path]:
    given = os.environ.get(FOLDER_VARIABLE)
    return [*([Path(given)] if given else []), cache_folder()]


def cache_folder() -> Path:
    """Where downloads are kept: pooch's folder for this user."""
    try:
        import pooch
    except ImportError:
        return Path.home() / ".cache" / "everypair"
    return Path(pooch.os_cache("everypair"))


def _on_this_machine(path: str) -> Path | None:
    candidates = (folder / f"{path}{packed}" for folder in _folders() for packed in UNPACK)
    return next((place for place in candidates if place.is_file()), None)


def _unpacked(place: Path, path: str) -> bytes:
    unpack = UNPACK[place.suffix if place.suffix in UNPACK else ""]
    content = unpack(place.read_bytes())
    digest = hashlib.sha256(content).hexdigest()
    if digest != SOURCES[path].sha256:
        raise DataNotFound(
            f"{place} is not the file that is expected: its content has sha256 {digest}, not "
            f"{SOURCES[path].sha256}. Delete it to download it again."
        )
    return content


def _downloaded(path: str) -> Path:
    url = SOURCES[path].url
    if url is None:
        raise DataNotFound(_what_to_do(path, "it has no address to download it from"))
    try:
        import pooch
    except ImportError as error:
        raise DataNotFound(_what_to_do(path, "pooch is not installed")) from error
    packed = ".gz" if url.endswith(".gz") else ""
    place = cache_folder() / f"{path}{packed}"
    # What is packed is checked once unpacked: gzip may pack the same content in many ways.
    pin = None if packed else f"sha256:{SOURCES[path].sha256}"
    try:
        pooch.retrieve(url, pin, fname=place.name, path=place.parent)
    except ValueError as error:  # the sum, which pooch checks before it keeps the file
        why = "what its address gives is another file (its sha256 differs)"
        raise DataNotFound(_what_to_do(path, why)) from error
    except Exception as error:  # pooch passes on what requests and sockets raise
        why = f"the download failed ({type(error).__name__})"
        raise DataNotFound(_what_to_do(path, why)) from error
    return place


def _what_to_do(path: str, why: str) -> str:
    source = SOURCES[path].url
    where = f" from {source}" if source else ""
    return (
        f"The data file {path} is not on this machine and {why}. Either connect to the network "
        f"and `pip install 'everypair[data]'`, or get the file{where} and set "
        f"{FOLDER_VARIABLE} to the folder that holds {path} (.gz or .xz may follow)."
    )


def _table(path: str, **options: Any) -> Any:
    import pandas as pd

    content = io.BytesIO(read_file(path))
    return pd.read_csv(content, na_values="?", skipinitialspace=True, **options)


def _numbers(frame: Any) -> tuple[NDArray[np.float64], list[str]]:
    """Numeric columns as they are, words one-hot, gaps filled and flagged."""
    import pandas as pd

    frame = frame.rename(columns=str)
    numeric, words = frame.select_dtypes("number"), frame.select_dtypes(exclude="number")
    missing = numeric.isna()
    flags = missing.loc[:, missing.any()].add_suffix(" missing")
    parts = [numeric.fillna(numeric.median()), flags]
    if words.shape[1]:
        parts.append(pd.get_dummies(words, prefix_sep="="))
    columns = [str(column) for part in parts for column in part.columns]
    return np.column_stack([part.to_numpy(dtype=float) for part in parts]), columns


def _numbered(count: int, stem: str = "x") -> list[str]:
    return [f"{stem}{k}" for k in range(1, count + 1)]


def _svmlight(paths: Sequence[str], n_features: int) -> Dataset:
    from scipy import sparse
    from sklearn.datasets import load_svmlight_file

    parts = [load_svmlight_file(io.BytesIO(read_file(p)), n_features=n_features) for p in paths]
    X = sparse.vstack([part[0] for part in parts], format="csr")
    return Dataset(X, np.concatenate([part[1] for part in parts]), _numbered(n_features))


def _a9a() -> Dataset:
    return _svmlight(("a9a/a9a", "a9a/a9a.t"), 123)


def _w8a() -> Dataset:
    return _svmlight(("w8a/w8a",), 300)


ADULT_COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation",
    "relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week",
    "native_country", "income",
]  # fmt: skip


def adult_table() -> Any:
    """Adult as a data frame, words and gaps included; ``income`` is ``"<=50K"`` or ``">50K"``."""
    import pandas as pd

    paths = ("adult/adult-train.csv", "adult/adult-test.csv")
    tables = [_table(path, header=None, names=ADULT_COLUMNS) for path in paths]
    frame = pd.concat(tables, ignore_index=True)
    return frame.assign(income=frame["income"].str.rstrip("."))


def _adult() -> Dataset:
    frame = adult_table()
    X, columns = _numbers(frame.drop(columns="income"))
    return Dataset(X, frame["income"].to_numpy(dtype=str), columns)


def _covtype() -> Dataset:
    if _on_this_machine("covtype/covtype.csv") is not None:
        frame = _table("covtype/covtype.csv", dtype=np.float32)
        table = frame.to_numpy()
        X, y, columns = table[:, :-1], table[:, -1].astype(int), [*frame.columns[:-1]]
    else:
        # scikit-learn has the same rows in the same order, with a pinned address of its own.
        from sklearn.datasets import fetch_covtype

        try:
            bunch = fetch_covtype(data_home=cache_folder())
        except OSError as error:
            why = f"the download failed ({type(error).__name__})"
            raise DataNotFound(_what_to_do("covtype/covtype.csv", why)) from error
        X, y, columns = bunch.data.astype(np.float32), bunch.target, bunch.feature_names
    return Dataset(np.ascontiguousarray(X), y.astype(int), [str(name) for name in columns])


def kddcup99_table() -> Any:
    """The 10 % sample of KDD-99 as a data frame; column 41 is the label, without its full stop."""
    frame = _table("kddcup99/kddcup.data_10_percent", header=None)
    return frame.assign(**{"41": frame[41].str.rstrip(".")}).drop(columns=41).rename(columns=str)


def _kddcup99() -> Dataset:
    """Rows once each, as the copies of two floods would otherwise be half of the data."""
    frame = kddcup99_table().drop_duplicates()
    X, columns = _numbers(frame.drop(columns="41"))
    return Dataset(X, frame["41"].to_numpy(dtype=str), columns)


def _mnist() -> Dataset:
    """The 60 000 training digits, 7 x 7 means of 4 x 4 pixels (Herschtal & Raskutti 2004)."""
    images = np.frombuffer(read_file("mnist/train-images-idx3-ubyte"), np.uint8, offset=16)
    labels = np.frombuffer(read_file("mnist/train-labels-idx1-ubyte"), np.uint8, offset=8)
    small = images.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4), dtype=np.float32)
    names = [f"row {r} column {c}" for r in range(1, 8) for c in range(1, 8)]
    return Dataset(small.reshape(labels.size, -1), labels.astype(int), names)


def _letter() -> Dataset:
    scaled = _svmlight(("letter/letter.scale", "letter/letter.scale.t"), 16)
    # Back from [-1, 1] to the integers 0 to 15 of the source.
    X = np.rint((scaled.X.toarray() + 1) * 7.5)
    letters = np.array([chr(ord("A") + int(k) - 1) for k in scaled.y])
    return Dataset(X, letters, scaled.feature_names)


def _satimage() -> Dataset:
    paths = ("satimage/sat.trn.txt", "satimage/sat.tst.txt")
    table = np.vstack([np.loadtxt(io.BytesIO(read_file(path))) for path in paths])
    return Dataset(table[:, :-1].copy(), table[:, -1].astype(int), _numbered(36, "band "))


def _optdigits() -> Dataset:
    table = np.vstack([_table(f"optdigits/optdigits.{part}").to_numpy() for part in ("tra", "tes")])
    X = table[:, :-1].astype(float)
    return Dataset(X, table[:, -1].astype(int), _numbered(64, "block "))


PIMA_COLUMNS = [
    "pregnancies", "glucose", "blood_pressure", "skin_thickness", "insulin", "bmi", "pedigree",
    "age",
]  # fmt: skip


def _pima() -> Dataset:
    table = _table("pima/pima-indians-diabetes.csv", header=None).to_numpy(float)
    return Dataset(table[:, :-1].copy(), table[:, -1].astype(int), PIMA_COLUMNS)


def credit_table() -> Any:
    """Credit approval (crx) as a data frame; the last column, ``class``, is ``+`` or ``-``."""
    return _table("credit_crx/crx.data")


def _credit() -> Dataset:
    frame = credit_table()
    X, columns = _numbers(frame.drop(columns="class"))
    return Dataset(X, frame["class"].to_numpy(dtype=str), columns)


def _ionosphere() -> Dataset:
    frame = _table("ionosphere/ionosphere.data", header=None)
    X = frame.iloc[:, :34].to_numpy(float)
    return Dataset(X, frame[34].to_numpy(dtype=str), _numbered(34))


def spectf_part(part: str) -> Dataset:
    """``"train"``, ``"test"`` or ``"incorrect.test"``: the test file that UCI had until 2006."""
    name = f"SPECTF{part}" if part.startswith("incorrect") else f"SPECTF.{part}"
    table = np.loadtxt(io.BytesIO(read_file(f"spectf/{name}.txt")), delimiter=",")
    return Dataset(table[:, 1:].copy(), table[:, 0].astype(int), _numbered(44, "region "))


def _spectf() -> Dataset:
    train, test = spectf_part("train"), spectf_part("test")
    return Dataset(np.vstack([train.X, test.X]), np.append(train.y, test.y), train.feature_names)


def _wdbc() -> Dataset:
    frame = _table("wdbc/wdbc.data", header=None)
    return Dataset(frame.iloc[:, 2:].to_numpy(float), frame[1].to_numpy(dtype=str), _numbered(30))


def wpbc_table(with_time: bool = False) -> Any:
    """Prognosis of breast cancer (WPBC): column "1" is ``R`` (recurrent) or ``N``.

    The patient's number is left out, and unless asked for the time to recurrence or to the last
    visit, which is known only afterwards.
    """
    frame = _table("wpbc/wpbc.data", header=None).rename(columns=str)
    return frame.drop(columns=["0"] if with_time else ["0", "2"])


def _wpbc() -> Dataset:
    frame = wpbc_table()
    X, columns = _numbers(frame.drop(columns="1"))
    return Dataset(X, frame["1"].to_numpy(dtype=str), columns)


READERS: dict[str, Callable[[], Dataset]] = {
    "a9a": _a9a,
    "adult": _adult,
    "covtype": _covtype,
    "credit": _credit,
    "ionosphere": _ionosphere,
    "kddcup99": _kddcup99,
    "letter": _letter,
    "mnist": _mnist,
    "optdigits": _optdigits,
    "pima": _pima,
    "satimage": _satimage,
    "spectf": _spectf,
    "w8a": _w8a,
    "wdbc": _wdbc,
    "wpbc": _wpbc,
}
