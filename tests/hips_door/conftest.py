"""The programs are no tests: they import a library that need not be there."""

collect_ignore_glob = ["programs/*", "record_hips.py", "conftest.py"]
