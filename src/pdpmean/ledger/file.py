"""The file of an SQLite ledger: a single file, with a single name, on a single machine.

Two copies of the file, two names or two machines could each spend the same budget.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from pdpmean.errors import LedgerError

__all__ = ["LedgerFile"]

_MOUNTS = Path("/proc/self/mounts")  # on Linux; elsewhere network folders are not recognized
_NETWORK = re.compile(r"nfs\d?|cifs|smb\w*|afs|9p|ceph|lustre|gpfs|beegfs|fuse\.(sshfs|glusterfs|ceph|s3fs|rclone)")
_ESCAPED = re.compile(r"\\(\d{3})")  # a space in the name of a folder is \040


class LedgerFile:
    """The path of a ledger, and the checks that no budget is spent twice by way of the file system."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(os.path.expanduser(path))  # by which SQLite names its write-ahead log

    @property
    def number(self) -> str:
        """The file's number in the file system: a copy has another one, a renamed file the same."""
        return str(os.stat(self.path).st_ino)

    def check_before_opening(self) -> None:
        """Raise if the file is in a network folder, has a second name, or is mounted by itself.

        SQLite's locks and write-ahead log work on one machine, and go by the name of the file. Programs that use
        another name would not see what was spent under this one.
        """
        with suppress(OSError):  # there is none yet, or SQLite will say what is wrong
            self._check_names(os.stat(self.path))
        mounts = _mounts()
        if self.path in mounts:
            raise LedgerError(
                f"{self.path} is mounted by itself, without its folder, so the same budget could be spent again under "
                "its other name. Mount the folder that it is in"
            )
        kind = _kind_of_file_system(self.path, mounts)
        if _NETWORK.fullmatch(kind):
            raise LedgerError(
                f"{self.path} is in a network folder ({kind}), where two machines could each spend the same budget. "
                "Keep the ledger on a disk of this machine; or, for several machines, use PostgreSQL"
            )

    def check_original(self, known: str) -> None:
        """Raise unless the file is the one with the `known` number."""
        if known != self.number:
            raise LedgerError(
                f"{self.path} is a copy of a ledger: two copies could each spend the same budget. "
                "Use the original; or, if it is gone for good and nothing has been spent since, say so once: "
                f"moved=True, or pdpmean ledger init {self.path} --moved"
            )

    def check_nothing_left_behind(self, earlier: str | None) -> None:
        """Raise if the file was moved from its `earlier` path after a crash, but its write-ahead log was not.

        The log, a file beside the ledger, holds the last transactions until a program closes the ledger properly.
        """
        if earlier is None or os.path.exists(earlier):
            return
        log = f"{earlier}-wal"
        if os.path.exists(log) and os.path.getsize(log) > 0:
            raise LedgerError(
                f"{self.path} was moved without {log}, which holds what was spent last. "
                f"Move that file as well, to {self.path}-wal; or move the ledger back"
            )

    def check_in_place(self, known: str) -> None:
        """Raise unless the file is where it was opened, under this name alone."""
        try:
            found = os.stat(self.path)
        except OSError:
            found = None
        if found is None or str(found.st_ino) != known:
            raise LedgerError(f"{self.path} was moved or replaced while it was in use. Open the ledger again")
        self._check_names(found)

    def _check_names(self, found: os.stat_result) -> None:
        if stat.S_ISDIR(found.st_mode):
            raise LedgerError(
                f"{self.path} is a folder; a ledger is a file, such as {os.path.join(self.path, 'people.db')}"
            )
        if found.st_nlink > 1:
            raise LedgerError(
                f"{self.path} has a second name (a hard link), by which the same budget could be spent again. "
                "Remove the other name"
            )


def _mounts() -> dict[str, str]:
    """The kind of file system that is mounted, by where; none if that is not known."""
    try:
        mounts = [
            line.split()[1:3] for line in _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        ]
    except OSError:
        return {}
    return {_ESCAPED.sub(lambda code: chr(int(code[1], 8)), folder): kind for folder, kind in mounts}


def _kind_of_file_system(path: str, mounts: Mapping[str, str]) -> str:
    """The kind of file system that a path lies in, such as ext4; nothing if that is not known."""
    inside = [folder for folder in mounts if path.startswith(folder.rstrip("/") + "/")]
    return mounts[max(inside, key=len)] if inside else ""
