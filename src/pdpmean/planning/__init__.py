"""Planning: from public numbers to shares of the budget and predicted errors; one file per shape.

Sees neither data nor randomness. May import: core, laws, errors.
"""
