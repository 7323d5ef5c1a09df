"""Sources: whatever a user holds, as batches of records.

May import: core, passes, randomness.
"""
