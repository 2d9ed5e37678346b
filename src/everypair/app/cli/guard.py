"""Exit codes, and errors as one line.

0    done
1    something unexpected: a fault of the program
2    the input cannot be used as it is: a file, a column, a value, an option, a model file
130  interrupted (Ctrl-C); no half-written file is left
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import typer

from everypair.app.cli import options as opt
from everypair.app.cli.show import print_text
from everypair.app.files.problems import DataError

NAME = "everypair"
FAULT, BAD_INPUT, INTERRUPTED = 1, 2, 130

EXTRAS = {
    "jinja2": "report", "markupsafe": "report", "matplotlib": "plot", "pandas": "data",
    "openpyxl": "excel", "pooch": "data", "pyarrow": "cli", "rich": "cli",
}  # fmt: skip
"""Packages that the core does without, and what to ask pip for."""

Command = TypeVar("Command", bound=Callable[..., Any])


def exit_code(call: Callable[[], Any]) -> int:
    """Call the parser of the command line: its complaints are one line as well."""
    try:
        code = int(call() or 0)
        if code != INTERRUPTED:
            sys.stdout.flush()
            return code
    except (KeyboardInterrupt, typer.Abort):
        pass  # in the parser, which makes an Abort of it or the exit code alone
    except (BrokenPipeError, SystemExit) as trouble:
        # The reader of our output has seen enough; rich and click make an exit of it.
        if isinstance(trouble, SystemExit) and not isinstance(trouble.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as trouble:  # the last words did not fit on the disk
        _say(f"standard output: {trouble.strerror or trouble}.")
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD_INPUT
    except Exception as trouble:
        if not hasattr(trouble, "format_message"):  # the parser's own kind
            raise
        context = getattr(trouble, "ctx", None)
        command = NAME if context is None else context.command_path
        text = trouble.format_message()
        _say(f"{text[:1].lower()}{text[1:]} ({command} --help says more)")
        return BAD_INPUT
    _say("interrupted.")
    return INTERRUPTED


def guarded(command: Command) -> Command:
    """The command with its failures turned into one line on stderr and an exit code."""
    spread = opt.spread(command)

    @functools.wraps(spread)
    def run(*args: Any, **options: Any) -> Any:
        main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGTERM, _interrupt) if main else None
        try:
            return spread(*args, **options)
        except typer.Exit:
            raise
        except KeyboardInterrupt:
            # Arrow sends itself the signal once more after it has raised; by now it may.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            _leave("", INTERRUPTED, options)  # `exit_code` has the word
        except BrokenPipeError:
            raise  # `exit_code` sees to it
        except (DataError, ValueError) as trouble:
            _leave(str(trouble), BAD_INPUT, options)
        except ImportError as trouble:
            name = (trouble.name or "").split(".")[0]
            if name not in EXTRAS:
                _unexpected(trouble, options)
            _leave(
                f"{name} is not installed: pip install 'everypair[{EXTRAS[name]}]'",
                BAD_INPUT,
                options,
            )
        except OSError as trouble:
            where = f"{trouble.filename}: " if trouble.filename else ""
            _leave(f"{where}{trouble.strerror or trouble}".rstrip(".") + ".", BAD_INPUT, options)
        except MemoryError as trouble:
            _leave(
                f"the memory is not enough for this table ({trouble}): give fewer rows or columns.",
                BAD_INPUT,
                options,
            )
        except Exception as trouble:
            _unexpected(trouble, options)
        finally:
            if main:
                signal.signal(signal.SIGTERM, before)

    return run  # type: ignore[return-value]


def _interrupt(number: int, frame: Any) -> NoReturn:
    raise KeyboardInterrupt


def _unexpected(trouble: Exception, options: dict[str, Any]) -> NoReturn:
    kind = type(trouble).__name__
    _leave(f"unexpected {kind}: {trouble} (--debug shows where).", FAULT, options)


def _leave(message: str, code: int, options: dict[str, Any]) -> NoReturn:
    if options.get("debug"):
        print_text(traceback.format_exc().rstrip(), file=sys.stderr)
    if message:
        _say(message)
    raise typer.Exit(code) from None


def _say(message: str) -> None:
    print_text(f"{NAME}: {' '.join(message.split())}", file=sys.stderr)


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Errors inside that do not know their file are about this one."""
    try:
        yield
    except DataError as trouble:
        if trouble.file is not None:
            raise
        raise DataError(trouble.problem, path, trouble.row, trouble.column) from trouble
