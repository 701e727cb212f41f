"""Attributes that NumPy's dtypes have from the moment a door asks for them.

NumPy's dtypes are what tensors show, they have no place for attributes of ours, and their class can't be subclassed.
So the attributes go into the namespace of NumPy's class itself, which Python shows read-only: all of CPython's garbage
collector, which knows the dictionary behind it, and the call by which C code says that it changed a class.
"""

import gc
from typing import Any

import numpy as np


def give(**attributes: Any) -> bool:
    """Let all of NumPy's dtypes have attributes; one that NumPy has itself stays as it is.

    A Python without `ctypes`, or that keeps no dictionary there, leaves dtypes as they are, and False is told: what can
    be asked of them is then NumPy's alone.
    """
    try:
        import ctypes

        modified = ctypes.pythonapi.PyType_Modified
    except (ImportError, AttributeError):
        return False
    namespaces = [found for found in gc.get_referents(np.dtype.__dict__) if type(found) is dict]
    if len(namespaces) != 1 or namespaces[0].get("newbyteorder") is not np.dtype.__dict__["newbyteorder"]:
        return False
    for name, value in attributes.items():
        if not hasattr(np.dtype, name):
            namespaces[0][name] = value
    modified(ctypes.py_object(np.dtype))
    return True
