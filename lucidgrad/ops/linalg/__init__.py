"""Linear algebra: products, norms, functions and decompositions of matrices."""
