"""Inference: from released numbers to mean, interval and warnings; one file per shape.

Sees neither data nor randomness. May import: core, laws, planning, results, errors.
"""
