"""Small fitted models, and model files with one thing changed."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pyarrow as pa
from scipy import sparse

from everypair.app.encode import encoder_for
from everypair.app.model_file.store import SavedModel, packed

N_ROWS = 60
RNG = np.random.default_rng(0)
DENSE = pa.table(
    {"x": RNG.normal(size=N_ROWS), "z": RNG.normal(size=N_ROWS), "c": ["u", "v", "w"] * 20}
)
Y = DENSE["x"].to_numpy() + RNG.normal(size=N_ROWS) > 0.5
WIDE = pa.table(
    {f"c{j}": [f"v{k}" for k in RNG.integers(0, 30, N_ROWS)] for j in range(24)}
)  # so many categories that the matrix is sparse
SPARSE = sparse.random(N_ROWS, 30, 0.2, random_state=0, format="csr")
TABLES = {"dense": DENSE, "wide": WIDE, "svmlight": SPARSE}


def saved(estimator, table=DENSE, encoder=None, **changes):
    """A model file's content, of an estimator fitted on the encoded table."""
    known = {
        "encoder": encoder or encoder_for(table).fit(table), "estimator": estimator,
        "method": "m", "settings": {"alpha": 0.1}, "target": "y", "positive": "yes",
        "negative": "no", "n_rows": N_ROWS, "n_positive": int(Y.sum()), "train_auc": 0.9,
        "versions": {"everypair": "0.1.0"}, "created": "2026-01-01", "source": "t.csv",
        "notes": ["a note."],
    }  # fmt: skip
    return SavedModel(**{**known, **changes})


def fitted(estimator, table=DENSE, **changes):
    encoder = encoder_for(table).fit(table)
    return saved(estimator.fit(encoder.transform(table), Y), table, encoder, **changes)


def boosting(table=DENSE):
    from sklearn.ensemble import HistGradientBoostingClassifier

    return fitted(HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5), table)


def parts_of(content):
    """The description and the arrays of a file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    return json.loads(parts.pop("model.json")), parts


def file_of(description, parts, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        text = description if isinstance(description, (str, bytes)) else json.dumps(description)
        archive.writestr("model.json", text)
        for name, part in parts.items():
            archive.writestr(name, part)
    return out.getvalue()


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def estimator_of(description):
    return description["model"]["estimator"]


def with_node(column, value, node=0):
    """A boosting of which one entry of one column of the nodes is changed."""
    description, parts = parts_of(packed(boosting()))
    nodes = estimator_of(description)["trees"]["dict"]["nodes"]["dict"]
    name = f"{nodes[column]['array']}.npy"
    array = np.load(io.BytesIO(parts[name]))
    array[node] = value
    parts[name] = npy(array)
    return file_of(description, parts)
