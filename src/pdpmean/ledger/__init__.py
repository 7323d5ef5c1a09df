"""Ledger: a database of what each person grants and what each release cost them, which lets nobody exceed their grant.

Privacy losses add up over releases, so somebody has to keep count. `ledger.py` is the class that users hold,
`charge.py` is how an estimate pays, `reservation.py` is the transaction that charges people, and `verify.py` is the
audit. It stores ids and budgets, never values. May import: core, errors.
"""
