"""Laws: the mathematics of the method, without data or randomness.

A *law* is a probability distribution. This room has those of errors (`error_law`, `grid_law`, `mixed_law`), clipped
normals, the reading of released histograms and sums (`reading`, `clip_ends`, `far_mean`, `bounded_mean`, `pooling`),
the doubles as a lattice of candidates for private choices, searches, and lower bounds on the error of any method.

May import: core, errors.
"""
