"""Release: every step that turns private data into released numbers, one file per step, each with its proof.

The proofs are in docs/guarantee.md. May import: core, laws, passes, planning, randomness, errors.
"""
