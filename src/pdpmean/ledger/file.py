"""LedgerFile: checks that an SQLite ledger is a single file, with a single name, on a single machine.

SQLite's locks and write-ahead log work only there. Through two copies of the file, two names or two machines, the same
budget could be spent twice.
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
_NETWORK_FILE_SYSTEMS = re.compile(
    r"nfs\d?|cifs|smb\w*|afs|9p|ceph|lustre|gpfs|beegfs|fuse\.(sshfs|glusterfs|ceph|s3fs|rclone)"
)
_OCTAL_ESCAPE = re.compile(r"\\(\d{3})")  # in the list of mounts, a space in the name of a folder is written \040


class LedgerFile:
    """The path of a ledger, with checks that the file system offers no way to spend a budget twice."""

    def __init__(self, path: str) -> None:
        # With links resolved, since SQLite names its write-ahead log after this path.
        self.path = os.path.realpath(os.path.expanduser(path))

    @property
    def number(self) -> str:
        """The file's inode number: a copy has a different one, and a renamed file keeps its own."""
        return str(os.stat(self.path).st_ino)

    def check_before_opening(self) -> None:
        """Raise if the file is in a network folder, has a second name, or is mounted by itself.

        SQLite's locks work on one machine, and its write-ahead log is found by the name of the file. Programs that open
        the file by another name would not see what was spent under this one.
        """
        with suppress(OSError):  # the file does not exist yet, or SQLite will say what is wrong
            self._check_names(os.stat(self.path))
        mounts = _mounts()
        if self.path in mounts:
            raise LedgerError(
                f"{self.path} is mounted by itself, without its folder, so the same budget could be spent again under "
                "its other name. Mount the folder that it is in"
            )
        kind = _kind_of_file_system(self.path, mounts)
        if _NETWORK_FILE_SYSTEMS.fullmatch(kind):
            raise LedgerError(
                f"{self.path} is in a network folder ({kind}), where two machines could each spend the same budget. "
                "Keep the ledger on a disk of this machine; or, for several machines, use PostgreSQL"
            )

    def check_original(self, recorded: str) -> None:
        """Raise if the file is a copy: its inode number is not the one that the ledger has recorded."""
        if recorded != self.number:
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

    def check_in_place(self, recorded: str) -> None:
        """Raise unless the file is still the one that was opened, and has no other name.

        `recorded` is the inode number that the ledger has recorded.
        """
        try:
            status = os.stat(self.path)
        except OSError:
            status = None
        if status is None or str(status.st_ino) != recorded:
            raise LedgerError(f"{self.path} was moved or replaced while it was in use. Open the ledger again")
        self._check_names(status)

    def _check_names(self, status: os.stat_result) -> None:
        """Raise if the path is a folder, or the file has a second name."""
        if stat.S_ISDIR(status.st_mode):
            raise LedgerError(
                f"{self.path} is a folder; a ledger is a file, such as {os.path.join(self.path, 'people.db')}"
            )
        if status.st_nlink > 1:
            raise LedgerError(
                f"{self.path} has a second name (a hard link), by which the same budget could be spent again. "
                "Remove the other name"
            )


def _mounts() -> dict[str, str]:
    """The type of file system at each mount point, such as ext4; empty where the system does not tell."""
    try:
        mounts = [
            line.split()[1:3] for line in _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        ]
    except OSError:
        return {}
    return {_OCTAL_ESCAPE.sub(lambda code: chr(int(code[1], 8)), folder): kind for folder, kind in mounts}


def _kind_of_file_system(path: str, mounts: Mapping[str, str]) -> str:
    """The type of file system that a path lies in, such as ext4; an empty text if it is not known."""
    mount_points = [folder for folder in mounts if path.startswith(folder.rstrip("/") + "/")]
    return mounts[max(mount_points, key=len)] if mount_points else ""
