"""Passes: what is done to every record, in any engine: count budgets, keep a sample, sum. Sees private data.

May import: core, randomness, errors.
"""
