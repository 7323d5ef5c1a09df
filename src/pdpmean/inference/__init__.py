"""Inference: from released numbers to mean, interval and warnings. Sees neither data nor randomness.

May import: core, laws, planning, results.
"""
