"""Sources: whatever a user holds, as batches of records; `files/` and `spark/` have folders of their own.

Sees private data. May import: core, passes, randomness, errors.
"""
