"""Ops × laws: every primitive against everything that must hold of primitives."""
