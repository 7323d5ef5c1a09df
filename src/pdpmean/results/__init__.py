"""Results: what users hold after an estimate or a comparison; all of it is public or released.

May import: core, laws, planning, errors.
"""
