"""Planning: from public numbers to shares of the budget and predicted errors. Sees neither data nor randomness.

May import: core, laws.
"""
