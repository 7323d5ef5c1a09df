"""Core: what all rooms share: types, models, options, checks, budget profiles, integers, compiled loops, threads.

May import: errors.
"""
