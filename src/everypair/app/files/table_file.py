"""Files that hold tables: their format, and their bytes unpacked."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from everypair.app.files.dates import Formats
from everypair.app.files.problems import KNOWN_AS, DataError, shown
from everypair.cached import cached_property

ENDINGS = {
    ".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet", ".pq": "parquet", ".feather": "feather", ".arrow": "feather",
    ".svm": "svmlight", ".svmlight": "svmlight", ".libsvm": "svmlight", ".arff": "arff",
    ".xlsx": "xlsx", ".xlsm": "xlsx",
}  # fmt: skip
FORMATS = ("csv", "tsv", "parquet", "feather", "svmlight", "arff", "xlsx")
COMPRESSED = (".gz", ".xz", ".zip")

CHUNK_BYTES = 2**20
"""A piece of a text file. Arrow reads some thirty pieces ahead, so that these are many times it."""


@dataclass(frozen=True)
class Source:
    """A file and how to read it. What is not said is found out."""

    path: Path
    format: str | None = None
    delimiter: str | None = None
    encoding: str = "utf-8"
    header: bool | None = None  # None: the first line, unless it seems to be data
    dates: tuple[str, ...] = ()  # formats as for `Formats`

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise DataError(f"format {self.format!r} is not one of {', '.join(FORMATS)}.")
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise DataError(f"delimiter {self.delimiter!r} is not a single character.")
        try:
            "".encode(self.encoding)
        except (LookupError, UnicodeError):  # "undefined" is an encoding that encodes nothing
            raise DataError(
                f"encoding {self.encoding!r} is not known: use a name such as utf-8 or latin-1."
            ) from None
        _ = self.formats  # refused here if they cannot be understood

    @cached_property
    def formats(self) -> Formats:
        return Formats.of(self.dates)

    @property
    def kind(self) -> str:
        """Format by name: the one said, or that of the ending."""
        if self.format is not None:
            return self.format
        if self.path.is_dir():
            return "parquet"
        self.check_exists()
        name = self._inner_name()
        ending = Path(name).suffix.lower()
        if ending == ".xls":
            raise DataError("the old .xls is not read: save it as .xlsx or as CSV.", self.path)
        kind = ENDINGS.get(ending)
        if kind is None:
            raise DataError(
                f"the ending of {name!r} is not that of a known format: give --format "
                f"({', '.join(FORMATS)}) or rename the file.",
                self.path,
            )
        return kind

    @property
    def compressed(self) -> bool:
        return self.path.suffix.lower() in COMPRESSED

    def _inner_name(self) -> str:
        if self.path.suffix.lower() == ".zip":
            with self._trouble_named(), zipfile.ZipFile(self.path) as archive:
                return _only_member(archive, self.path)
        return self.path.stem if self.compressed else self.path.name

    def check_exists(self) -> None:
        if not self.path.exists():
            raise DataError("there is no such file.", self.path)
        if self.path.is_dir():
            raise DataError("this is a folder, not a file.", self.path)
        if not self.path.is_file():  # it is read more than once
            raise DataError(
                "a pipe cannot be read: save it to a file, or give - and pipe it in.",
                self.path,
            )
        if not os.access(self.path, os.R_OK):
            raise DataError("this file may not be read (permission denied).", self.path)
        if self.path.stat().st_size == 0:
            raise DataError("the file is empty.", self.path)

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The bytes of the table, unpacked."""
        self.check_exists()
        ending = self.path.suffix.lower()
        with self._trouble_named():
            if ending == ".gz":
                with gzip.open(self.path) as file:
                    yield file  # type: ignore[misc]
            elif ending == ".xz":
                with lzma.open(self.path) as file:
                    yield file
            elif ending == ".zip":
                with (
                    zipfile.ZipFile(self.path) as archive,
                    archive.open(_only_member(archive, self.path)) as file,
                ):
                    yield file
            else:
                with self.path.open("rb") as file:
                    yield file

    @contextmanager
    def seekable(self) -> Iterator[Any]:
        """For formats whose index is at the end: a path, or all bytes of a compressed file."""
        self.check_exists()
        if not self.compressed:
            yield str(self.path)
            return
        with self.open() as file:
            content = io.BytesIO(file.read())
        yield content

    @contextmanager
    def _trouble_named(self) -> Iterator[None]:
        try:
            yield
        except (
            EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile
        ) as trouble:  # fmt: skip
            raise DataError(
                f"the compressed file is damaged or cut short ({trouble}).", self.path
            ) from trouble


STANDARD_INPUT = "-"


def saved_input(ending: str = ".csv") -> Path:
    """Standard input as a file, which can be read more than once; gone when Python ends."""
    import atexit
    import shutil
    import sys
    import tempfile

    if sys.stdin is None or sys.stdin.isatty():
        raise DataError("nothing is piped to standard input: give the name of a file.")
    folder = tempfile.mkdtemp(prefix="everypair-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / f"input{ending}"
    KNOWN_AS[str(path)] = STANDARD_INPUT
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def _only_member(archive: zipfile.ZipFile, path: Path) -> str:
    names = [n for n in archive.namelist() if not n.endswith("/") and not n.startswith("__MACOSX")]
    if len(names) != 1:
        raise DataError(f"the archive holds {len(names)} files: give an archive of one file.", path)
    return names[0]


def first_line(trouble: Exception) -> str:
    return str(trouble).strip().split("\n")[0][:200]


def check_names(names: list[str], path: Path | None = None) -> None:
    """Column names must tell the columns apart."""
    seen: set[str] = set()
    for name in names:
        if name in seen and name:  # nameless columns are left out (`everypair.app.files.kinds`)
            raise DataError("the header has this name twice: rename one.", path, column=name)
        seen.add(name)


MOST_NAMED = 30
"""Columns of a file that a message names all."""


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def check_present(
    wanted: list[str], names: list[str], path: Path, several: Collection[str] = ()
) -> None:
    """Every wanted column is in the file, or the missing ones are named.

    ``several`` are of options that may be given several times.
    """
    has = {*names} - {""}
    missing = [name for name in wanted if name not in has]
    if missing:
        more = f" ({len(missing)} columns are missing)" if len(missing) > 1 else ""
        import difflib

        near = [name for name in names if name.lower() == missing[0].lower()]
        near += difflib.get_close_matches(missing[0], names[:1000], 1)
        listed = names if len(names) <= MOST_NAMED else [*names[:8], *names[-4:]]
        few = ", ".join(shown(name) for name in listed)
        few += f" and {len(names) - len(listed)} more" if len(listed) < len(names) else ""
        hint = f"did you mean {shown(near[0])}?" if near else f"it has {few}."
        if "," in missing[0] and {*missing[0].split(",")} <= has:
            hint = "give the name of one column."
            if missing[0] in several:
                hint = "give the option once for each column."
        elif re.fullmatch(r"column \d+", missing[0]) and missing[0] not in names:
            hint = "if the file has no line of names, use --no-header."
        elif not near and any(is_number(name) for name in names):
            hint = f"{hint[:-1]}; if that is data, use --no-header."
        raise DataError(f"the file has no such column{more}: {hint}", path, column=missing[0])
