"""The command ``everypair``, which is ``python -m everypair`` as well.

The command line proper is imported inside: an interrupt that falls into the imports, or a package
that is not there, is one line like every other trouble.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

PACKAGES = ("typer", "click", "rich", "shellingham", "typing_extensions")
"""What the parser of the command line needs."""


def main() -> NoReturn:
    # A closed stream is None, and the next file opened would take its place.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 - for the process' life
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    try:
        from everypair.app.cli.app import main as run

        run()
    except KeyboardInterrupt:
        print("everypair: interrupted.", file=sys.stderr, flush=True)
        os._exit(130)
    except ModuleNotFoundError as trouble:
        if (trouble.name or "").split(".")[0] not in PACKAGES:
            raise
        print(
            f"everypair: {trouble.name} is not installed: pip install 'everypair[cli,report]'",
            file=sys.stderr,
        )
        sys.exit(2)


if __name__ == "__main__":
    main()
