"""Spark: DataFrames, counted and summed by Spark itself; its Python workers import `worker.py` alone.

May import: as sources.
"""
