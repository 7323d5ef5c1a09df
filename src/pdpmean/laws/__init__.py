"""Laws: the mathematics of the method, without data: distributions of errors, clipping, lattices, lower bounds.

A *law* is a probability distribution. Start with `reading`, which interprets released histograms, and `far_mean`, which
turns released sums into a mean and its law. May import: core, errors.
"""
