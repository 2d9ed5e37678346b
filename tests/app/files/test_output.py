"""Files that are written: whole or not at all, as private as they were, or straight into a pipe."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading

import pytest

from everypair.app.files.output import written_whole
from everypair.app.files.problems import DataError


def test_interrupted_writing_keeps_the_old_file(tmp_path):
    path = tmp_path / "m"
    path.write_text("old")

    def interrupted():
        with written_whole(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["m"]


def test_links_stay_links_and_pipes_stay_pipes(tmp_path):
    real, link, pipe = (tmp_path / name for name in ("real", "link", "pipe"))
    real.write_text("old")
    link.symlink_to(real)
    with written_whole(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    os.mkfifo(pipe)
    found = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    with written_whole(pipe) as file:
        file.write(b"through")
    reader.join(5)
    assert found == [b"through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_file_keeps_its_permissions_and_a_new_one_follows_the_mask(tmp_path):
    path = tmp_path / "private"
    before = os.umask(0o022)
    try:
        for mode in (0o600, 0o640, 0o666):
            path.write_text("old")
            path.chmod(mode)
            with written_whole(path) as file:
                file.write(b"new")
            assert stat.S_IMODE(path.stat().st_mode) == mode
        with written_whole(tmp_path / "new") as file:
            file.write(b"new")
        assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o644
    finally:
        os.umask(before)


WRITE = "from everypair.app.files.output import written_whole as w\nimport sys\n" + (
    "with w(sys.argv[1]) as file: file.write(b'new')\n"
)


BOTH = WRITE.replace("with", "print('before ', end='')\nwith") + "print(' after', end='')\n"


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="this system has no /dev/fd")
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("{write} /dev/stdout | cat", b"new"),
        ("{write} >(cat > caught); sleep 0.5; cat caught", b"new"),
        ("echo -n old > f; {write} /dev/stdout >> f; cat f", b"oldnew"),
        ("{write} /dev/stdout > f; cat f", b"new"),
        ("{write} /dev/fd/7 7> f; cat f", b"new"),
        ("{both} /dev/stdout > f; cat f", b"before new after"),
        ("{both} /dev/stdout | cat", b"before new after"),
        ("{both} f > f; cat f", b"before new after"),
        ("{both} /dev/fd/7 7>&1 > f; cat f", b"newbefore  after"),
    ],
)
def test_what_the_shell_has_opened_is_written_to(script, expected, tmp_path):
    write, both = (f'{sys.executable} -c "{code}"' for code in (WRITE, BOTH))
    command = script.format(write=write, both=both)
    found = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False)
    assert (found.stdout, found.stderr) == (expected, b"")
    assert not list(tmp_path.glob(".*"))


def test_what_is_not_open_is_refused():
    with (
        pytest.raises(DataError, match="/dev/fd/987: this is not open"),
        written_whole("/dev/fd/987"),
    ):
        pass


def test_names_as_long_as_the_system_allows_are_written(tmp_path):
    path = tmp_path / ("n" * 255)
    with written_whole(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
