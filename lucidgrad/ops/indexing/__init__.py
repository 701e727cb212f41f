"""Picking elements, adding them back and writing them: by key, by position, by mask."""
