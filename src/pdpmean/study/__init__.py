"""Study: comparisons with the paper and with other methods by simulation, and what-if questions about plans.

May import: every other room but show and cli; estimate, plan.
"""
