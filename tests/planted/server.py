"""Runs pytest on copies of the package, each in a fork of one process that has imported everything else.

To import NumPy, SciPy, Arrow and Numba takes longer than most of the tests. This file is run as a program: a line of
JSON on its input asks for one run, and a line on its output tells what pytest exited with.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]
# Whatever takes long to import, but neither the package nor anything that imports it.
PRELOADED = (
    "cryptography.hazmat.primitives.ciphers",
    "hypothesis",
    "mpmath",
    "numba",
    "numba.core.config",
    "numpy",
    "pandas",
    "polars",
    "psycopg",
    "pyarrow",
    "pyarrow.compute",
    "pyarrow.csv",
    "pyarrow.dataset",
    "pyarrow.feather",
    "pyarrow.parquet",
    "pytest",
    "rich.console",
    "scipy.integrate",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "sqlite3",
    "typer.testing",
    "unittest.mock",
    "xdist.scheduler",
)


class PytestServer:
    """A process that runs tests on copies of the package, in one fork after the other."""

    def __init__(self, log: Path) -> None:
        self._log = log
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "NUMBA"))}
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__],
            cwd=ROOT,
            env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, folder: Path, tests: Iterable[str], *, compiled: bool) -> tuple[int, str]:
        """What pytest exits with, and prints, when these tests import the package in this folder."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        jit = {"NUMBA_CACHE_DIR": str(folder / "numba")} if compiled else {"NUMBA_DISABLE_JIT": "1"}
        asked = {"tests": list(tests), "environment": {"PYTHONPATH": str(folder), **jit}, "log": str(self._log)}
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        code = int(self._process.stdout.readline())
        return code, self._log.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def serve() -> None:
    """Answer one request after the other, until there are no more."""
    for name in PRELOADED:
        importlib.import_module(name)
    assert not any(name.split(".")[0] == "pdpmean" for name in sys.modules)
    gc.freeze()  # pytest collects garbage several times, and forks would each copy all that it looks at
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run_tests(**json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def _run_tests(tests: list[str], environment: Mapping[str, str], log: str) -> NoReturn:
    code = -1
    try:
        _redirect(0, os.devnull, os.O_RDONLY)
        for number in (1, 2):
            _redirect(number, log, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if number == 1 else os.O_APPEND))
        os.environ.update(environment)
        sys.path.insert(0, environment["PYTHONPATH"])
        _modules("numba.core.config").reload_config()  # it has read the environment of the server
        options = ["-x", "-p", "no:cacheprovider", "--hypothesis-profile=no shrinking"]
        options += ["-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning"]
        code = int(_modules("pytest").main([*options, *tests]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code % 256)


def _modules(name: str) -> Any:
    return sys.modules[name]


def _redirect(number: int, path: str, flags: int) -> None:
    opened = os.open(path, flags, 0o600)
    os.dup2(opened, number)
    os.close(opened)


if __name__ == "__main__":
    serve()
