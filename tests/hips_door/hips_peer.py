"""Whether HIPS autograd is installed: the folder of tests of that name, which Python finds too, does not count."""

import importlib.util

_spec = importlib.util.find_spec("autograd")
HAS_AUTOGRAD = _spec is not None and _spec.origin is not None
