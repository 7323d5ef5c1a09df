"""A real PostgreSQL server for tests: made in a folder of its own, reached through a socket there alone."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import psycopg

_OPTIONS = "-k {folder} -c listen_addresses='' -c max_connections=40"


class Server:
    """A running server, whose one database has a schema for every ledger: databases take long to make."""

    def __init__(self, folder: Path, settings: str) -> None:
        self.folder = folder
        self.settings = settings
        self._numbers = count()

    def address(self, database: str) -> str:
        return f"postgresql://postgres@/{database}?host={self.folder}"

    def new_ledger(self) -> str:
        """An address at which there is nothing yet."""
        name = f"ledger{next(self._numbers)}"
        with psycopg.connect(self.address("postgres")) as connection:
            connection.execute(f"CREATE SCHEMA {name}")  # type: ignore[arg-type,unused-ignore]
        return f"{self.address('postgres')}&options=-csearch_path%3D{name}"

    def start(self, largest_file: int | None = None) -> None:
        """Start it; as if the disk were full once a file is so large, if that is given."""
        options = f"{_OPTIONS.format(folder=self.folder)} {self.settings}"
        data, log = str(self.folder / "data"), str(self.folder / "log")
        limit = [] if largest_file is None else ["prlimit", f"--fsize={largest_file}:"]
        self._run("pg_ctl", "-D", data, "-w", "-l", log, "-o", options, "start", before=limit)

    def stop(self, how: str = "fast") -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", how, "-w", "stop")

    def make(self) -> None:
        self._run("initdb", "-D", str(self.folder / "data"), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync")

    def _run(self, program: str, *words: str, before: Sequence[str] = ()) -> None:
        command = [*before, str(_programs() / program), *words]
        if os.getuid() == 0:  # as whom the server refuses to run
            command = ["runuser", "-u", "postgres", "--", *command]
        ran = subprocess.run(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert ran.returncode == 0, f"{command}: {ran.stderr}"


def _programs() -> Path:
    """Where the server's programs are: not on the path in Debian."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[4]))
    path = found[-1] if found else shutil.which("initdb")
    assert path, "the tests need PostgreSQL: make test installs it"
    return Path(path).parent


@contextmanager
def running_server(settings: str = "-c fsync=off") -> Iterator[Server]:
    """A server for as long as it is needed; its socket's path is short, as it must be. By default no disk waits."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    server = Server(folder, settings)
    try:
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
