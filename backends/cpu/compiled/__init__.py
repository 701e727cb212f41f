"""Kernels in C for large arrays on the CPU, compiled when first needed; without a compiler NumPy serves."""
