"""Adds the computed gradient to docstrings whose example shows none; keeps nameless objects out of signatures."""

from tools.reference import more, tidied


def add(app, what, name, obj, options, lines):
    """Append to the lines of a docstring in place."""
    if what in ("function", "method"):
        lines.extend(more(name, obj))


def tidy(app, what, name, obj, options, parameters, result):
    """Give the signature that is shown."""
    return parameters and tidied(parameters), result


def setup(app):
    """Listen after numpydoc has had its turn."""
    app.connect("autodoc-process-signature", tidy, priority=900)
    app.connect("autodoc-process-docstring", add, priority=900)
    return {"parallel_read_safe": True}
