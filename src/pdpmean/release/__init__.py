"""Release: every step that turns private data into released numbers, one file per step.

Each step is proved in docs/guarantee.md. May import: core, laws, passes, planning, randomness, errors.
"""
