"""Keystream: uniform 64-bit words from AES-256-CTR, which all but single draws of noise are made of.

A secure stream takes its key from the operating system. After a fork it takes a new one: a child that went on with its
parent's state would repeat the parent's draws.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

__all__ = ["Keystream", "new_run_id", "secure_key", "this_process"]

# The plaintext of the keystream. It is kept, since threads that allocate memory wait for each other.
_ZEROS = memoryview(bytes(2**20))
_forks = 0  # the number of forks from the first process to this one: process numbers alone are reused


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def this_process() -> tuple[int, int]:
    """An identifier of this process that no fork shares, to detect that a source was inherited through a fork."""
    return os.getpid(), _forks


def new_run_id() -> str:
    """A unique name for a release: 128 random bits, which are used for nothing else."""
    return os.urandom(16).hex()


def secure_key() -> bytes:
    """A new key from the operating system."""
    return os.urandom(32)


class Keystream:
    """An endless stream of independent uniform words, which begins with a new key in every process."""

    def __init__(self, new_key: Callable[[], bytes]) -> None:
        self._new_key = new_key
        self._start()

    def words(self, size: int) -> NDArray[np.uint64]:
        """`size` independent uniform 64-bit words."""
        if self._process != this_process():
            self._start()
        stream = np.empty(8 * size + 15, dtype=np.uint8)  # the cipher requires space for one more block, less a byte
        zeros = _ZEROS[: 8 * size] if 8 * size <= len(_ZEROS) else bytes(8 * size)
        written = self._keystream.update_into(zeros, stream)
        return stream[:written].view("<u8").astype(np.uint64, copy=False)

    def _bits(self, size: int, bits: int) -> NDArray[np.uint64]:
        """Uniform integers below ``2**bits``."""
        return self.words(size) >> np.uint64(64 - bits) if bits else np.zeros(size, dtype=np.uint64)

    def _start(self) -> None:
        """Begin with a new key: at first, and in a process that was forked.

        The process is noted last. Whatever fails or looks before, nothing that was inherited is used.
        """
        self._keystream: Any = Cipher(AES(self._new_key()), CTR(bytes(16))).encryptor()
        self._process = this_process()
