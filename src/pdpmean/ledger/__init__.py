"""Ledger: a database of what each person grants and what each release cost them, which lets nobody exceed their grant.

`ledger.py` is the class that users hold, `charge.py` is how an estimate pays, and `verify.py` is the audit. The ledger
stores ids and budgets, never values. May import: core, errors.
"""
