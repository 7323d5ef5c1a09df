"""Study: comparisons with other methods, and what-if questions.

May import: everything below, and the two verbs.
"""
