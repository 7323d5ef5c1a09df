"""Release: every step that turns private data into released numbers, one file per step, each with its proof.

May import: core, laws, passes, planning, randomness.
"""
