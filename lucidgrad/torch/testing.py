"""PyTorch's ``torch.testing``: comparisons with tolerances that fit the dtypes."""

from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any

import lucidgrad as _lg
from lucidgrad.core.device import by_array as _by_array

__all__ = ["assert_allclose", "assert_close", "make_tensor"]

#: Relative and absolute tolerance by dtype; others, of integers, must be equal.
_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip

_Message = str | Callable[[str], str] | None


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: _Message = None,
) -> None:
    """Raise an AssertionError unless two tensors, numbers, or trees of them, are close.

    Close means ``|actual - expected| <= atol + rtol |expected|``, by default with tolerances that fit the dtype, the
    wider ones where two differ; integers have to be equal.

    Parameters
    ----------
    actual, expected
        Tensors, arrays, numbers; or sequences and mappings of them.
    allow_subclasses, check_layout
        Accepted: there is one class, and one layout.
    rtol, atol
        The tolerances, both or none.
    equal_nan
        Whether NaN equals NaN.
    check_device, check_dtype, check_stride
        What else must be the same.
    msg
        The error's text, or a function that makes it of the text it would have.

    Examples
    --------
    >>> import lucidgrad.torch as torch
    >>> torch.testing.assert_close(torch.tensor([1.0]), torch.tensor([1.0 + 1e-7]))
    >>> torch.testing.assert_close({"a": 1}, {"a": 1})
    """
    if (rtol is None) != (atol is None):
        raise ValueError(f"assert_close: given rtol={rtol} and atol={atol}, expected both or none")
    checks = {"device": check_device, "dtype": check_dtype, "stride": check_stride}
    _compare(actual, expected, rtol, atol, equal_nan, checks, "", msg)


def _compare(
    actual: Any,
    expected: Any,
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    checks: dict[str, bool],
    at: str,
    msg: _Message,
) -> None:
    further = (rtol, atol, equal_nan, checks)
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if actual.keys() != expected.keys():
            missing = sorted(map(repr, expected.keys() - actual.keys()))
            extra = sorted(map(repr, actual.keys() - expected.keys()))
            _fail(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: [{', '.join(missing)}]\n"
                f"Additional keys in the actual mapping: [{', '.join(extra)}]",
                at,
                msg,
            )
        for key in expected:
            _compare(actual[key], expected[key], *further, f"{at}[{key!r}]", msg)
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            _fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", at, msg)
        for i, (a, b) in enumerate(zip(actual, expected)):
            _compare(a, b, *further, f"{at}[{i}]", msg)
    elif isinstance(actual, Number) and isinstance(expected, Number):
        if checks["dtype"] and type(actual) is not type(expected):
            _fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", at, msg)
        _compare_numbers(actual, expected, rtol, atol, equal_nan, at, msg)
    elif _is_array(actual) and type(actual) is type(expected):
        _compare_tensors(_lg.asarray(actual), _lg.asarray(expected), *further, at, msg)
    elif actual is None or expected is None:
        if actual is not expected:
            _fail(f"Expected {expected!r} but got {actual!r}.", at, msg)
    else:
        raise TypeError(
            f"assert_close: given a {type(actual).__name__} and a {type(expected).__name__}"
            f"{f' at item {at}' if at else ''}, expected two tensors, two arrays or two numbers, or trees of them"
        )


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_array(value: Any) -> bool:
    return isinstance(value, _lg.Tensor) or type(value) in _by_array


def _compare_numbers(actual: Any, expected: Any, rtol: Any, atol: Any, equal_nan: bool, at: str, msg: _Message) -> None:
    whole = all(isinstance(x, int) for x in (actual, expected))
    dtype = "complex128" if any(isinstance(x, complex) for x in (actual, expected)) else "float64"
    if rtol is None:
        rtol, atol = (0.0, 0.0) if whole else _TOLERANCES[dtype]
    if actual == expected or (equal_nan and actual != actual and expected != expected):
        return
    difference = abs(actual - expected)
    if difference <= atol + rtol * abs(expected):
        return
    if rtol == atol == 0.0:
        _fail(
            f"Scalars are not equal!\n\nExpected {expected} but got {actual}.\n{_scalar(difference, expected)}", at, msg
        )
    _fail(
        f"Scalars are not close!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference} (up to {atol} allowed)\n"
        f"Relative difference: {_ratio(difference, expected)} (up to {rtol} allowed)",
        at,
        msg,
    )


def _scalar(difference: Any, expected: Any) -> str:
    return f"Absolute difference: {difference}\nRelative difference: {_ratio(difference, expected)}"


def _ratio(difference: Any, expected: Any) -> float:
    return float(difference / abs(expected)) if expected else float("inf")


def _compare_tensors(
    actual: Any,
    expected: Any,
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    checks: dict[str, bool],
    at: str,
    msg: _Message,
) -> None:
    for name, a, b in (
        ("shape", actual.shape, expected.shape),
        ("device", str(actual.device), str(expected.device)),
        ("dtype", str(actual.dtype), str(expected.dtype)),
        ("stride()", actual.stride(), expected.stride()),
    ):
        if a != b and checks.get(name.removesuffix("()"), True):
            plural = "attribute" if name == "device" else "values for attribute"
            _fail(f"The {plural} '{name}' do not match: {_spelt(name, a)} != {_spelt(name, b)}.", at, msg)
    if rtol is None:
        found = [_TOLERANCES.get(str(x.dtype), (0.0, 0.0)) for x in (actual, expected)]
        rtol, atol = max(r for r, _ in found), max(a for _, a in found)
    atol = atol or 0.0
    with _lg.no_grad():
        actual, expected = actual.detach().to("cpu"), expected.detach().to("cpu")
        dtype = _lg.promote_types(actual.dtype, expected.dtype)
        if str(dtype) in ("bool", "uint8", "int8", "int16", "int32"):  # whose differences would not fit
            dtype = _lg.int64
        actual, expected = actual.to(dtype), expected.to(dtype)
        close = _lg.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan)
        if not bool(close.all()):
            _fail(_differences(actual, expected, close, rtol, atol), at, msg)


def _spelt(name: str, value: Any) -> str:
    return f"torch.Size({list(value)})" if name == "shape" else f"torch.{value}" if name == "dtype" else str(value)


def _differences(actual: Any, expected: Any, close: Any, rtol: float, atol: float) -> str:
    """How much two tensors differ, and where most."""
    count, total = int((~close).sum()), int(close.size)
    exact = rtol == atol == 0.0
    if not actual.ndim:
        return (
            f"Scalars are not {'equal' if exact else 'close'}!\n\n"
            f"Expected {expected.item()} but got {actual.item()}.\n"
            + _lines(actual, expected, close, rtol, atol, exact)
        )
    return (
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n\n"
        f"Mismatched elements: {count} / {total} ({count / total:.1%})\n"
        + _lines(actual, expected, close, rtol, atol, exact)
    )


def _lines(actual: Any, expected: Any, close: Any, rtol: float, atol: float, exact: bool) -> str:
    whole = not (actual.is_floating_point() or actual.is_complex())
    wide = _lg.complex128 if actual.is_complex() else _lg.float64
    absolute = (actual.to(wide) - expected.to(wide)).abs()
    absolute = _lg.where(close, _lg.zeros_like(absolute), absolute)
    size = expected.to(wide).abs()
    relative = _lg.where(size == 0, _lg.full_like(size, _lg.inf), absolute / _lg.where(size == 0, 1.0, size))
    relative = _lg.where(close, _lg.zeros_like(relative), relative)
    made = []
    for name, values, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        place = int(_lg.argmax(values))
        where = []
        for n in reversed(values.shape):
            where.append(place % n)
            place //= n
        value = float(values[tuple(reversed(where))]) if values.ndim else float(values)
        if not values.ndim:
            start, index = name.capitalize(), ""
        else:
            start, index = f"Greatest {name}", f" at index {tuple(reversed(where))}"
        shown = int(value) if whole and name == "absolute" else value
        made.append(f"{start} difference: {shown}{index}" + ("" if exact else f" (up to {allowed} allowed)"))
    return "\n".join(made)


def _fail(text: str, at: str, msg: _Message) -> None:
    if at:
        text = f"{text}\n\nThe failure occurred for item {at}"
    raise AssertionError(text if msg is None else msg(text) if callable(msg) else msg)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older name of `assert_close`, which does not look at devices and dtypes."""
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=False, check_dtype=False,
        msg=msg or None,
    )  # fmt: skip


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = "cpu",
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of random values between two bounds, by default -9 and 9 (for integers 10), from 0 without a sign."""
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if noncontiguous and sizes:
        sizes = (*sizes[:-1], 2 * sizes[-1])
    name = str(_lg.empty(0, dtype=dtype).dtype)
    whole = name.startswith(("int", "uint"))
    if name == "bool":
        made = _lg.randint(0, 2, sizes, device=device).to(_lg.bool)
    else:
        low = (0 if name.startswith("u") else -9) if low is None else low
        high = (10 if whole else 9) if high is None else high
        if whole:
            made = _lg.randint(int(low), int(high), sizes, device=device).to(dtype)
        else:
            made = _lg.rand(*sizes, device=device, dtype=_lg.float64) * (high - low) + low
            if name.startswith("complex"):
                made = made + 1j * (_lg.rand(*sizes, device=device, dtype=_lg.float64) * (high - low) + low)
            made = made.to(dtype)
    if exclude_zero:
        made = _lg.where(made == 0, _lg.ones_like(made), made)
    if noncontiguous and sizes:
        made = made[..., ::2]
    return made.requires_grad_(requires_grad)
