"""Files that appear whole or not at all.

A file is written under a temporary name beside its own and renamed when it is complete, so that
an interruption leaves the old file or none. A pipe or a device takes what comes.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import IO

from everypair.app.files.problems import DataError

OPEN_ALREADY = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/(self|\d+)/fd/\d+")
"""Names of what the shell opened for the command: ``-o /dev/stdout``, ``-o >(gzip > s.gz)``."""

DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}

REMEDIES = {
    errno.ENOSPC: "free some space there, or give a file on another disk",
    errno.EDQUOT: "remove files of yours there, or give a file on another disk",
    errno.EFBIG: "raise the limit on the size of files (ulimit -f), or give a file on another disk",
    errno.ENAMETOOLONG: "give a shorter name",
}
"""What a system says of a file that it cannot write, at times without its name; what to do."""


def is_stream(path: Path) -> bool:
    """Is this a pipe, a device or a file that the shell has opened? It cannot be replaced."""
    return bool(OPEN_ALREADY.fullmatch(str(path))) or (path.exists() and not path.is_file())


def is_standard_output(path: Path) -> bool:
    """Does what is written here go where this process prints? Nothing is mixed in /dev/null."""
    try:
        same = os.path.samestat(os.fstat(1), path.stat())
    except OSError:  # one of them is not open
        return False
    return same and not path.samefile(os.devnull)


def _opened(path: Path) -> IO[bytes]:
    """A stream; what the shell has opened is shared, not opened again.

    A second opening of a file has its own place in it: text printed later would be written over
    the first bytes.
    """
    found = DESCRIPTOR.fullmatch(str(path))
    number = int(found.group(1)) if found else STANDARD.get(str(path))
    if is_standard_output(path):
        number = 1
    if number is None:
        return path.open("ab")
    print(end="", flush=True)  # what was printed before comes first
    return os.fdopen(os.dup(number), "wb")


@contextmanager
def written_whole(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write to, under another name until it is complete; gone if anything fails.

    A file that is there already keeps its permissions, and a link stays a link.
    """
    given = Path(path)
    check_writable(given)
    if is_stream(given) or is_standard_output(given):
        with _trouble_of_output(given, given), _opened(given) as file:
            yield file
        return
    path = given.resolve()
    with _trouble_of_output(given, path.parent):
        yield from _renamed_when_written(path.parent / f".everypair-{token_hex(8)}.part", path)


def _renamed_when_written(temporary: Path, path: Path) -> Iterator[IO[bytes]]:
    """The name is known before the file is made: Ctrl-C at any moment finds it to delete."""
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=0o600)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(_mode_of(path))  # until here it was its owner's alone
        temporary.replace(path)
    except BaseException:  # Ctrl-C as well
        temporary.unlink(missing_ok=True)
        raise


def _mode_of(path: Path) -> int:
    """The permissions of the file that is replaced, or those of a new one."""
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


@contextmanager
def _trouble_of_output(path: Path, temporary: str | Path) -> Iterator[None]:
    """Errors about the temporary name are errors about the file that was asked for."""
    try:
        yield
    except OSError as trouble:
        ours = str(trouble.filename or "").startswith(str(temporary))
        if not (ours or (trouble.filename is None and trouble.errno in REMEDIES)):
            raise
        remedy = REMEDIES.get(trouble.errno or 0)
        what = f"cannot be written: {trouble.strerror}" + (f": {remedy}." if remedy else ".")
        raise DataError(what, path) from trouble


def check_writable(path: Path, *inputs: Path) -> None:
    """Refuse at once, not after an hour of work; nor may it be a file that is read."""
    for given in inputs:
        if path.is_file() and given.exists() and path.samefile(given):
            also = "" if path == given else f" (it is {given})"
            raise DataError(f"this is the file to read{also}: give another name to write to.", path)
    if path.is_dir():
        raise DataError("this is a folder: give the name of a file to write.", path)
    if is_stream(path):
        if not path.exists():
            raise DataError("this is not open: give the name of a file to write.", path)
        if not os.access(path, os.W_OK):
            raise DataError("this may not be written to (permission denied).", path)
        return
    if not path.parent.is_dir():
        raise DataError(f"there is no folder {str(path.parent)!r} to write to.", path)
    if not os.access(path.parent, os.W_OK):
        raise DataError("this folder may not be written to (permission denied).", path)
