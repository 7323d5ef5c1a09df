"""Sources: arrays, tables, files and Spark DataFrames, as batches of records.

Sees private data. May import: core, passes, randomness, errors.
"""
