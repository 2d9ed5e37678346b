"""Data sets are found, checked against their pin, or asked for in plain words."""

from __future__ import annotations

import gzip
import hashlib
import lzma

import numpy as np
import pytest

from lab.data import fetchers, reuters
from lab.data.fetchers import DataNotFound, fetch, read_file
from lab.data.sources import SOURCES, DownloadSource
from lab.data.tasks import names, task, tasks

CONTENT = b"1,2,3\n4,5,6\n"
PATH = "toy/table.csv"


@pytest.fixture
def toy_file(monkeypatch, tmp_path):
    """A pinned file that is nowhere yet; the data folder and the cache are empty."""
    pin = hashlib.sha256(CONTENT).hexdigest()
    monkeypatch.setitem(SOURCES, PATH, DownloadSource(pin, "https://data.invalid/table.csv"))
    monkeypatch.setenv(fetchers.FOLDER_VARIABLE, str(tmp_path / "data"))
    monkeypatch.setattr(fetchers, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path


def place(folder, suffix="", content=CONTENT):
    path = folder / f"{PATH}{suffix}"
    path.parent.mkdir(parents=True)
    pack = {"": bytes, ".xz": lzma.compress, ".gz": gzip.compress}[suffix]
    path.write_bytes(pack(content))


@pytest.mark.parametrize("suffix", ["", ".xz", ".gz"])
@pytest.mark.parametrize("folder", ["data", "cache"])
def test_a_file_is_found_in_either_folder_however_packed(toy_file, folder, suffix):
    place(toy_file / folder, suffix)
    assert read_file(PATH) == CONTENT


def test_another_content_is_refused_with_both_sums(toy_file):
    place(toy_file / "data", content=b"7,8,9\n")
    with pytest.raises(DataNotFound, match="is not the file that is expected"):
        read_file(PATH)


@pytest.mark.parametrize(
    ("trouble", "word"),
    [
        (ConnectionError("no route"), "the download failed .ConnectionError."),
        (ValueError("SHA256 hash of downloaded file does not match"), "its sha256 differs"),
    ],
)
def test_without_data_and_network_the_message_says_what_to_do(toy_file, monkeypatch, trouble, word):
    pooch = pytest.importorskip("pooch")

    def retrieve(*args, **kwargs):
        raise trouble

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    with pytest.raises(DataNotFound, match=rf"{word}.*set EVERYPAIR_DATA to the folder") as caught:
        read_file(PATH)
    assert caught.value.__cause__ is trouble


def test_a_download_is_asked_for_with_its_pin_and_kept_in_the_cache(toy_file, monkeypatch):
    pooch = pytest.importorskip("pooch")
    asked = []

    def retrieve(url, pin, fname, path):
        asked.append((url, pin))
        place(toy_file / "cache")

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert read_file(PATH) == CONTENT
    assert read_file(PATH) == CONTENT
    assert asked == [(SOURCES[PATH].url, f"sha256:{SOURCES[PATH].sha256}")]


def test_a_packed_download_is_checked_once_unpacked(toy_file, monkeypatch):
    pooch = pytest.importorskip("pooch")
    pin = SOURCES[PATH].sha256
    monkeypatch.setitem(SOURCES, PATH, DownloadSource(pin, "https://data.invalid/table.csv.gz"))

    def retrieve(url, pin, fname, path):
        assert pin is None
        place(toy_file / "cache", ".gz", b"something else")

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    with pytest.raises(DataNotFound, match="is not the file that is expected"):
        read_file(PATH)


def test_a_file_without_an_address_says_so(toy_file, monkeypatch):
    monkeypatch.setitem(SOURCES, PATH, DownloadSource(SOURCES[PATH].sha256, None))
    with pytest.raises(DataNotFound, match="no address"):
        read_file(PATH)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="'iris' is not a data set: use one of a9a, adult"):
        fetch("iris")
    with pytest.raises(ValueError, match=r"\['iris'\] are no tasks"):
        list(tasks(["iris"]))


def test_words_become_indicators_and_gaps_are_flagged():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({0: [1.0, None, 3.0], "kind": ["a", "b", None]})
    X, columns = fetchers._numbers(frame)
    assert columns == ["0", "0 missing", "kind=a", "kind=b"]
    np.testing.assert_array_equal(X, [[1, 0, 1, 0], [2, 1, 0, 1], [3, 0, 0, 0]])


COUNTS = {
    "pima": (768, 8, 268),
    "credit": (690, 48, 307),
    "ionosphere": (351, 34, 126),
    "spectf": (267, 44, 55),
    "wdbc": (569, 30, 212),
    "wpbc": (198, 33, 47),
    "satimage 4": (6435, 36, 626),
    "optdigits 8": (5620, 64, 554),
    "letter A": (20_000, 16, 789),
    "mnist 0": (60_000, 49, 5923),
}


@pytest.mark.parametrize("name", COUNTS)
def test_rows_columns_and_positives_are_those_of_the_source(name):
    found = or_skip(task, name)
    assert (*found.X.shape, found.positive.sum()) == COUNTS[name]
    assert np.isfinite(found.X).all()
    assert len(fetch(name.split()[0]).feature_names) == found.X.shape[1]


def test_every_task_has_a_data_set():
    assert {name.split()[0] for name in names()} == set(fetchers.names())


def test_reuters_has_the_published_counts():
    found = or_skip(reuters.stories)
    assert (len(found.texts), found.in_training.sum()) == (12_902, 9603)
    assert len(found.shared_topics()) == 90
    counts = {t: int(found.about(t)[found.in_training].sum()) for t in ("earn", "acq", "grain")}
    assert counts == {"earn": 2877, "acq": 1650, "grain": 433}


def or_skip(read, *args):
    try:
        return read(*args)
    except (DataNotFound, ImportError) as error:
        pytest.skip(str(error))
