"""What ``grad`` and ``backward`` promise: one test per promise, its id in the test's name."""
