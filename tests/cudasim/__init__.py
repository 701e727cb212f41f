"""Tests of the emulated CUDA device; they compare it with NumPy."""
