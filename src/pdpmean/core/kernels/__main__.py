"""Compile all loops ahead of time: ``python -m pdpmean.core.kernels``."""

from pdpmean.core.kernels import compile_all

compile_all()
