"""Ledger: who granted what, what every release cost whom, and proof that nobody's grant is exceeded.

Holds ids and budgets, never values. May import: core, errors.
"""
