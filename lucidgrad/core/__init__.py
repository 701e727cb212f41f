"""The backend-neutral engine: primitives, nodes and the walk."""
