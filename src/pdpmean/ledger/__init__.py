"""Ledger: what each person grants, what each release cost them, and proof that no grant is exceeded.

Holds ids and budgets, never values. May import: core, errors.
"""
