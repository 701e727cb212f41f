"""Primitives and their rules, by family."""
