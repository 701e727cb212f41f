"""Interpreters: arrays that stand for many (batches) or carry a tangent (dual numbers), where raw arrays stand."""
