"""Core: words that every room speaks: types, models, options, checks, profiles of budgets, integers, threads.

May import: errors.
"""
