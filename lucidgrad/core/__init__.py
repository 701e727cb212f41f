"""The backend-neutral engine: primitives, levels, nodes and the walk."""
