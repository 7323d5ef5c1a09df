"""Laws: mathematics without data: clipped normals, error laws, doubles as a lattice, searches, lower bounds.

May import: core, errors.
"""
