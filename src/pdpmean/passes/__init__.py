"""Passes: what every engine does to every record: count budgets, keep a sample, sum. Sees private data.

May import: core, randomness, errors.
"""
