"""Core: what every room uses: types, models, options, checks, budget profiles, integers, compiled loops, threads.

May import: errors.
"""
