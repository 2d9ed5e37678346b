"""The binary tasks of the comparison: public data sets read from ``$EVERYPAIR_DATA``.

Each reader returns ``(X, labels)``; `tasks` turns them into named binary tasks, one against
the rest where there are more than two classes. Tables with words are one-hot encoded,
missing values become the column's median and a flag.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
from collections.abc import Callable, Iterator
from functools import cache
from html import unescape
from pathlib import Path
from string import ascii_uppercase

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_svmlight_file


def root() -> Path:
    place = os.environ.get("EVERYPAIR_DATA")
    if not place:
        raise SystemExit("Set EVERYPAIR_DATA to the folder that holds the data sets.")
    return Path(place)


def _bytes(name: str) -> bytes:
    raw = (root() / name).read_bytes()
    if name.endswith(".xz"):
        return lzma.decompress(raw)
    return gzip.decompress(raw) if name.endswith(".gz") else raw


def _table(name: str, **options) -> pd.DataFrame:
    return pd.read_csv(io.BytesIO(_bytes(name)), na_values="?", skipinitialspace=True, **options)


def _numbers(frame: pd.DataFrame) -> np.ndarray:
    """Numeric columns as they are, words one-hot, gaps filled and flagged."""
    numeric = frame.select_dtypes("number")
    words = frame.select_dtypes(exclude="number")
    missing = numeric.isna()
    parts = [numeric.fillna(numeric.median()), missing.loc[:, missing.any()]]
    if words.shape[1]:
        parts.append(pd.get_dummies(words))
    return np.column_stack([part.to_numpy(dtype=float) for part in parts])


def _svmlight(*names: str, n_features: int):
    parts = [load_svmlight_file(io.BytesIO(_bytes(name)), n_features=n_features) for name in names]
    X = sparse.vstack([part[0] for part in parts], format="csr")
    return X, np.concatenate([part[1] for part in parts])


def a9a():
    return _svmlight("a9a/a9a.xz", "a9a/a9a.t.xz", n_features=123)


def w8a():
    return _svmlight("w8a/w8a.xz", n_features=300)


def adult():
    names = ("adult/adult-train.csv.xz", "adult/adult-test.csv.xz")
    frame = pd.concat([_table(name, header=None) for name in names], ignore_index=True)
    return _numbers(frame.iloc[:, :14]), frame[14].str.startswith(">50K").to_numpy()


def covtype():
    table = _table("covtype/covtype.csv.xz").to_numpy()
    return table[:, :-1].astype(np.float32), table[:, -1].astype(int)


KDD_GROUPS = {
    "r2l": (
        "ftp_write", "guess_passwd", "imap", "multihop", "phf", "spy", "warezclient", "warezmaster"
    ),
    "probe": ("ipsweep", "nmap", "portsweep", "satan"),
}  # fmt: skip


def kddcup99():
    """Rows once each, as the copies of two floods would otherwise be half of the data."""
    frame = _table("kddcup99/kddcup.data_10_percent.gz", header=None).drop_duplicates()
    label = frame[41].str.rstrip(".")
    group = {attack: name for name, attacks in KDD_GROUPS.items() for attack in attacks}
    return _numbers(frame.iloc[:, :41]), label.map(group).fillna("other").to_numpy()


def mnist():
    images = np.frombuffer(_bytes("mnist/train-images-idx3-ubyte.gz"), np.uint8, offset=16)
    labels = np.frombuffer(_bytes("mnist/train-labels-idx1-ubyte.gz"), np.uint8, offset=8)
    # 7 x 7 means of 4 x 4 pixels, as in Herschtal & Raskutti (2004).
    small = images.reshape(-1, 7, 4, 7, 4).mean(axis=(2, 4), dtype=np.float32)
    return small.reshape(labels.size, -1), labels


def letter():
    frame = _table("letter/letter.dat.xz", header=None, comment="@")
    return frame.iloc[:, :16].to_numpy(float), frame[16].to_numpy()


def satimage():
    names = ("satimage/sat.trn.txt", "satimage/sat.tst.txt")
    table = np.vstack([np.loadtxt(io.BytesIO(_bytes(name))) for name in names])
    return table[:, :-1], table[:, -1].astype(int)


def reuters21578():
    """The topics of each story beside its words: tf-idf of those in five stories or more.

    The 10 794 stories of the ModApte split that have a topic.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    stories, topics = [], []
    for k in range(22):
        text = _bytes(f"reuters21578/reut2-{k:03}.sgm.xz").decode("latin-1")
        for head, body in re.findall(r"<REUTERS (.*?)>(.*?)</REUTERS>", text, flags=re.DOTALL):
            about = re.findall(r"<D>(.*?)</D>", re.search(r"<TOPICS>.*?</TOPICS>", body)[0])
            if 'TOPICS="YES"' in head and 'LEWISSPLIT="NOT-USED"' not in head and about:
                words = re.search(r"<TEXT.*?>(.*)</TEXT>", body, flags=re.DOTALL)[1]
                stories.append(unescape(re.sub(r"<[^>]*>", " ", words)))
                topics.append(about)
    X = TfidfVectorizer(min_df=5, sublinear_tf=True, token_pattern=r"[a-z]{2,}").fit_transform(
        stories
    )
    return X, Topics(topics)


class Topics:
    """Labels of which a row may have several: ``topics == "grain"`` is true where one is."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, topics: list[list[str]]):
        self.topics = topics

    def __eq__(self, topic: object) -> np.ndarray:  # type: ignore[override]
        return np.array([topic in about for about in self.topics])


def optdigits():
    table = pd.concat([_table(f"optdigits/optdigits.{part}") for part in ("tra", "tes")]).to_numpy()
    return table[:, :-1].astype(float), table[:, -1].astype(int)


def pima():
    table = _table("pima/pima-indians-diabetes.csv", header=None).to_numpy(float)
    return table[:, :-1], table[:, -1] == 1


def credit():
    frame = _table("credit_crx/crx.data")
    return _numbers(frame.iloc[:, :-1]), (frame.iloc[:, -1] == "+").to_numpy()


def ionosphere():
    frame = _table("ionosphere/ionosphere.data", header=None)
    return frame.iloc[:, :34].to_numpy(float), (frame[34] == "b").to_numpy()


def spectf():
    table = _table("spectf/spectfheart.dat", header=None, comment="@").to_numpy(float)
    return table[:, :-1], table[:, -1] == 0


def wdbc():
    frame = _table("wdbc/wdbc.data", header=None)
    return frame.iloc[:, 2:].to_numpy(float), (frame[1] == "M").to_numpy()


def wpbc():
    frame = _table("wpbc/wpbc.data", header=None)
    return _numbers(frame.iloc[:, 3:]), (frame[1] == "R").to_numpy()


BINARY: dict[str, tuple[Callable, object]] = {
    "a9a": (a9a, 1), "w8a": (w8a, 1), "adult": (adult, True), "pima": (pima, True),
    "credit": (credit, True), "ionosphere": (ionosphere, True), "spectf": (spectf, True),
    "wdbc": (wdbc, True), "wpbc": (wpbc, True),
}  # fmt: skip

ONE_AGAINST_THE_REST: dict[Callable, tuple] = {
    covtype: (1, 2, 3, 4, 5, 6, 7),
    kddcup99: ("probe", "r2l"),
    mnist: (0, 5, 8),
    satimage: (1, 2, 3, 4, 5, 7),
    optdigits: (1, 8, 9),
    letter: tuple(ascii_uppercase),
    reuters21578: (
        "earn", "acq", "money-fx", "grain", "crude", "trade", "interest", "ship", "wheat", "corn"
    ),
}  # fmt: skip


def names() -> list[str]:
    many = [f"{r.__name__} {c}" for r, classes in ONE_AGAINST_THE_REST.items() for c in classes]
    return [*BINARY, *many]


@cache
def _read(reader: Callable):
    return reader()


def tasks(wanted: list[str] | None = None) -> Iterator[tuple[str, object, np.ndarray]]:
    """``(name, X, positive)`` of each task."""
    for name, (reader, label) in BINARY.items():
        if wanted is None or name in wanted:
            X, labels = _read(reader)
            yield name, X, labels == label
    for reader, classes in ONE_AGAINST_THE_REST.items():
        for label in classes:
            name = f"{reader.__name__} {label}"
            if wanted is None or name in wanted:
                X, labels = _read(reader)
                yield name, X, labels == label
