"""The version of this library, for modules that may not import the package itself."""

__all__ = ["VERSION"]

VERSION = "0.1.0"
