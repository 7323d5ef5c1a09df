"""Laws: mathematics without data: clipped normals, laws of errors, doubles as a lattice, searches, lower bounds.

May import: core.
"""
