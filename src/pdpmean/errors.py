"""Every error this library raises on purpose.

::

    PdpMeanError
    └── InvalidInputError (also a ValueError)    something public is wrong: a budget, a length, an option

An error is only ever raised because of something public. A private value, however strange, is data.
"""

from __future__ import annotations

__all__ = ["InvalidInputError", "PdpMeanError"]


class PdpMeanError(Exception):
    """Base of every error the library raises on purpose."""


class InvalidInputError(PdpMeanError, ValueError):
    """Something public about the call is wrong; `name` says what, `value` what it was."""

    def __init__(self, message: str, *, name: str, value: object = None) -> None:
        super().__init__(message)
        self.name = name
        self.value = value
