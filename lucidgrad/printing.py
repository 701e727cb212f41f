"""How tensors are shown: what was set for them alone. All else is NumPy's own settings."""

import math
from typing import Any

#: Arguments of NumPy's ``array2string``, by name; what is not here is as NumPy has it.
options: dict[str, Any] = {}

_PROFILES: dict[str, dict[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Say how tensors are shown; what is not given stays as it is.

    Parameters
    ----------
    precision
        Digits after the point.
    threshold
        With more elements than this, only those at the edges are shown.
    edgeitems
        So many at each edge.
    linewidth
        Characters in a line.
    profile
        "default", "short" or "full": PyTorch's settings of that name, which the others change.
    sci_mode
        Whether powers of ten are shown: always, never, or, where it is None, when numbers need it.

    Examples
    --------
    >>> import lucidgrad.printing, lucidgrad.torch as torch
    >>> torch.set_printoptions(precision=2)
    >>> torch.tensor([1 / 3, 0.5])
    tensor([0.33, 0.50])
    >>> lucidgrad.printing.options.clear()  # NumPy's settings hold again
    """
    if profile is not None and profile not in _PROFILES:
        raise ValueError(f"set_printoptions: given profile={profile!r}, expected one of {', '.join(_PROFILES)}")
    given = dict(precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth)
    chosen = {**_PROFILES.get(profile or "", {}), **{name: value for name, value in given.items() if value is not None}}
    for name, value in chosen.items():
        if not value >= 0:
            raise ValueError(f"set_printoptions: given {name}={value!r}, expected a number of at least 0")
    if "linewidth" in chosen:
        chosen["max_line_width"] = chosen.pop("linewidth")
    if chosen.get("threshold") == math.inf:
        chosen["threshold"] = 2**62  # NumPy wants a whole number
    options.update(chosen)
    if "precision" in options:
        options["floatmode"] = "maxprec_equal"  # as many digits for all
    options.pop("formatter", None)
    options.pop("suppress_small", None)
    if sci_mode:
        digits = options.get("precision", 4)
        options["formatter"] = {
            "float_kind": lambda x: f"{x:.{digits}e}",
            "complex_kind": lambda x: f"{x.real:.{digits}e}{x.imag:+.{digits}e}j",
        }
    elif sci_mode is False:
        options["suppress_small"] = True
