"""Results: what users hold after an estimate.

May import: core, laws, planning.
"""
