"""Show: pages and pictures of plans and results.

May import: core, laws, planning, results.
"""
