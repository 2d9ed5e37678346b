"""Files to try: small good ones, known bad ones, and mutations of both.

Good files are made, not kept, so that they follow the format. Every file that once did harm
has a name in `known_models` or `known_tables` and is tried first.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from functools import cache

import model_seeds as seeds
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from sklearn.datasets import dump_svmlight_file

from everypair.app.model_file.store import packed

EXTREMES = [
    0, 1, -1, 2, 3, 2**31 - 1, 2**31, 2**32 - 1, 2**62, -(2**63), 2**64, 10**30, 0.5, 1e308, -1e308,
    1e-320, float("nan"), float("inf"), True, False, None, "", "x", "\x1b[2J", "é" * 50, "number",
    "category", "precomputed", "rbf", [], [[]], {}, {"array": 0}, {"array": -1}, {"tuple": []},
    {"dict": {}}, {"object": ["Kernel", {}]}, {"number": ["<f8", 1]}, {"sparse": ["csr_matrix"]},
]  # fmt: skip

TOKENS = [
    b",", b";", b"\t", b"|", b"\n", b"\r", b"\r\n", b'"', b'""', b"'", b"\\", b"\x00", b"\xff",
    b"\xef\xbb\xbf", b"\xed\xa0\x80", b"NaN", b"inf", b"1e999", b"-", b"?", b":", b"0:1", b"-1:1",
    b"99999999999:1", b"1:1e400", b"qid:1", b"#", b"%", b"{", b"}", b"@data\n", b"@attribute",
    b"9" * 400, b"2024-02-30", b"1970-01-01T25:00", b"\x1b[2J", "é".encode(), b" " * 100,
]  # fmt: skip


@cache
def good_models():
    """Content of files by name: each form that a value can have is in one of them."""
    from sklearn.linear_model import LogisticRegression

    from everypair import AUCRLS, ROCSVM, RankBoost

    return {
        "linear": packed(seeds.fitted(AUCRLS())),
        "kernel": packed(seeds.fitted(AUCRLS(kernel="rbf"))),
        "sparse": packed(seeds.fitted(ROCSVM(max_rank=5), seeds.SPARSE)),
        "wide": packed(seeds.fitted(LogisticRegression(), seeds.WIDE)),
        "stumps": packed(seeds.fitted(RankBoost(n_estimators=5))),
        "trees": packed(seeds.boosting()),
    }


def table_for(model):
    """The name of a good table that this model scores."""
    return {"sparse": "rows.svm", "wide": "wide.csv"}.get(model, "rows.csv")


@cache
def good_tables():
    """Content by file name; the label is 'y'."""
    label = pa.array(np.where(seeds.Y, "yes", "no"))
    rows = seeds.DENSE.append_column("y", label)
    out = {"rows.csv": _csv(rows), "wide.csv": _csv(seeds.WIDE.append_column("y", label))}
    out["rows.tsv"] = out["rows.csv"].replace(b",", b"\t")
    out["rows.csv.gz"] = gzip.compress(out["rows.csv"], mtime=0)
    file = io.BytesIO()
    dump_svmlight_file(seeds.SPARSE, seeds.Y.astype(int), file, zero_based=False)
    out["rows.svm"] = file.getvalue()
    head = "@relation t\n@attribute x numeric\n@attribute z numeric\n@attribute c {u,v,w}\n"
    body = out["rows.csv"].split(b"\n", 1)[1]
    out["rows.arff"] = f"{head}@attribute y {{yes,no}}\n@data\n".encode() + body
    for name, write in (
        ("rows.parquet", pyarrow.parquet.write_table),
        ("rows.feather", pyarrow.feather.write_feather),
    ):
        file = io.BytesIO()
        write(rows, file)
        out[name] = file.getvalue()
    return out


def _csv(table):
    lines = [",".join(table.column_names)]
    lines += [",".join(str(value) for value in row.values()) for row in table.to_pylist()]
    return ("\n".join(lines) + "\n").encode()


# --- models that once did harm -------------------------------------------------------------


@cache
def known_models():
    nodes = {
        "feature below zero": ("feature_idx", -(2**40)),
        "feature too many": ("feature_idx", 2**40),
        "walk in a circle": ("left", 0),
        "child far away": ("right", 2**32 - 1),
        "categories without sets": ("is_categorical", 1),
    }
    out = {name: seeds.with_node(*change) for name, change in nodes.items()}
    description, parts = seeds.parts_of(good_models()["linear"])
    bomb = b" " * 30_000_000
    out["packed description"] = seeds.file_of(bomb, {}, zipfile.ZIP_DEFLATED)
    out["packed array"] = seeds.file_of(description, {"0.npy": bomb}, zipfile.ZIP_DEFLATED)
    out["lists in lists"] = seeds.file_of("[" * 500_000, {})
    out["many values"] = seeds.file_of('{"format":[' + "[]," * 300_000 + "[]]}", {})
    trees, arrays = seeds.parts_of(good_models()["trees"])
    for column in seeds.estimator_of(trees)["trees"]["dict"]["nodes"]["dict"].values():
        arrays[f"{column['array']}.npy"] = seeds.npy(np.zeros(0))
    out["trees without nodes"] = seeds.file_of(trees, arrays)
    strange = json.loads(json.dumps(description))
    strange["model"]["estimator"] = {"object": ["Pipeline", {"steps": []}]}
    out["a pipeline"] = seeds.file_of(strange, parts)
    return out


# --- mutations --------------------------------------------------------------------------------


def mutated_bytes(rng, content):
    """Bytes flipped, cut, repeated, swapped, or a token put in."""
    content = bytearray(content)
    for _ in range(int(rng.integers(1, 6))):
        if not content:
            break
        at = int(rng.integers(len(content)))
        size = int(min(rng.geometric(0.1), len(content) - at))
        match int(rng.integers(6)):
            case 0:
                content[at] ^= 1 << int(rng.integers(8))
            case 1:
                content[at : at + size] = rng.bytes(size)
            case 2:
                del content[at : at + size]
            case 3:
                content[at:at] = content[at : at + size] * int(rng.integers(1, 50))
            case 4:
                content[at:at] = TOKENS[int(rng.integers(len(TOKENS)))]
            case 5:
                del content[at:]
    return bytes(content)


def mutated_model(rng, content):
    """The bytes, the description or the arrays of a model changed; checksums put right."""
    which = rng.random()
    if which < 0.15:
        return mutated_bytes(rng, content)
    description, parts = seeds.parts_of(content)
    for _ in range(int(rng.integers(1, 4))):
        if which < 0.6:
            _change_json(rng, description)
        elif parts:
            name = list(parts)[int(rng.integers(len(parts)))]
            parts[name] = _changed_array(rng, parts[name])
    packing = zipfile.ZIP_DEFLATED if rng.random() < 0.02 else zipfile.ZIP_STORED
    return seeds.file_of(description, parts, packing)


def _change_json(rng, tree):
    """Some value of the tree replaced, removed or exchanged."""
    places = list(_places(tree))
    inside, key = places[int(rng.integers(len(places)))]
    match int(rng.integers(4)):
        case 0 if isinstance(inside, dict):
            inside[f"{key}_"[: int(rng.integers(9))]] = inside.pop(key)
        case 1:
            del inside[key]
        case 2:
            other, place = places[int(rng.integers(len(places)))]
            inside[key] = json.loads(json.dumps(other[place]))
        case _:
            inside[key] = EXTREMES[int(rng.integers(len(EXTREMES)))]


def _places(tree):
    for key, value in list(tree.items() if isinstance(tree, dict) else enumerate(tree)):
        yield tree, key
        if isinstance(value, (dict, list)):
            yield from _places(value)


def _changed_array(rng, content):
    if rng.random() < 0.2:
        return mutated_bytes(rng, content)
    try:
        array = np.load(io.BytesIO(content))
    except Exception:  # it was changed before
        return content
    match int(rng.integers(6)):
        case 0 if array.size:
            value = EXTREMES[int(rng.integers(17))]
            with np.errstate(all="ignore"):
                filler = np.array(value, dtype=object if isinstance(value, int) else None)
                try:
                    array.flat[int(rng.integers(array.size))] = filler.astype(array.dtype)
                except (OverflowError, ValueError, TypeError):
                    array = array[:-1]
        case 1:
            array = array.ravel()[: int(rng.integers(array.size + 1))]
        case 2:
            array = np.repeat(array, int(rng.integers(0, 4)), axis=0) if array.ndim else array
        case 3:
            kinds = ("f4", "f8", "i4", "i8", "u4", "u1", "?", "U3", "c8", "O")
            with np.errstate(all="ignore"):
                try:
                    array = array.astype(kinds[int(rng.integers(len(kinds)))])
                except ValueError:
                    array = np.zeros((2, 2))
        case 4:
            array = array[None] if rng.random() < 0.5 else array.T
        case _:
            array = rng.permutation(array) if array.ndim else array
    return seeds.npy(array)


def feather_astray():
    """A column of text whose places lead out of memory."""
    places = np.arange(seeds.N_ROWS + 1, dtype=np.int32)
    places[30:-1] = 2**30
    buffers = [None, pa.py_buffer(places), pa.py_buffer(b"u" * seeds.N_ROWS)]
    words = pa.Array.from_buffers(pa.string(), seeds.N_ROWS, buffers)
    table = pa.table({"x": seeds.DENSE["x"], "z": seeds.DENSE["z"], "c": words})
    file = io.BytesIO()
    pyarrow.feather.write_feather(
        table.append_column("y", pa.array(seeds.Y)), file, compression="uncompressed"
    )
    return file.getvalue()


def known_tables():
    rows = good_tables()["rows.csv"]
    return {
        "zeros.csv.gz": gzip.compress(bytes(10_000_000)),
        "quote.csv": rows.replace(b",", b',"', 1),
        "nulls.csv": rows.replace(b"u", b"\x00", 3),
        "wide.svm": b"1 2147483646:1\n0 1:1\n" * 5,
        "beyond.svm": b"1 99999999999999999999:1\n0 1:1\n" * 5,
        "below.svm": b"1 -5:1\n0 1:1\n" * 5,
        "astray.feather": feather_astray(),
        "header.arff": b"@relation t\n@attribute x {" + b"a," * 100_000 + b"b}\n@data\n",
    }
