"""Spark: DataFrames, counted and summed by Spark itself; its Python workers import only `worker.py`.

May import: as sources.
"""
