"""``out=``: results are written into tensors that are there; who may be written into, and who takes another shape."""

import importlib.util
import inspect

import door_battery
import door_calls
import numpy as np
import pytest

import lucidgrad as lg
import lucidgrad.torch as door

torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None


def calls():
    """A call of each function with ``out=``, without history."""
    found = door_calls.first_calls().items()
    return {n: call for n, (function, call) in found if "out" in inspect.signature(function).parameters}


def given(library, expression):
    arrays = {n: library.asarray(np.array(door_calls.GIVEN[n])) for n in door_battery.names_in(expression)}
    return {"torch": library, "float": float, **arrays}


def with_out(expression):
    inside = expression[: -len(")")]
    return f"{inside}{'' if inside.endswith('(') else ', '}out=out)"


def empty_like(library, value):
    make = lambda x: library.empty(0, dtype=x.dtype)
    return tuple(map(make, value)) if isinstance(value, tuple) else make(value)


def parts_of(value):
    return value if isinstance(value, tuple) else (value,)


def test_every_function_writes_where_it_is_told():
    """An empty out takes the shape; a second call writes into what is there by then."""
    wrong = {}
    for place, expression in calls().items():
        scope = given(door, expression)
        if "manual" in place or place.rpartition(".")[2] in ("rand", "randn", "randint", "randperm", "empty"):
            continue
        with door.no_grad():
            wanted = eval(expression, scope)
            out = scope["out"] = empty_like(door, wanted)
            written = eval(with_out(expression), scope)
            memory = [part.data_ptr() for part in parts_of(written)]
            again = eval(with_out(expression), scope)
        for target, part, value, second in zip(*map(parts_of, (out, written, wanted, again)), strict=True):
            same = np.array_equal(part.numpy(), value.numpy(), equal_nan=value.dtype.kind in "fc")
            if part is not target or second is not target or not same or part.dtype != value.dtype:
                wrong[expression] = part, value
        if [part.data_ptr() for part in parts_of(again)] != memory:
            wrong[expression] = "written elsewhere"
        if getattr(wanted, "_fields", None) != getattr(written, "_fields", None):
            wrong[expression] = written
    assert wrong == {}
    assert len(calls()) > 250


def test_errors_leave_everything_as_it_was():
    x, y = door.ones(2, 3, requires_grad=True), door.ones(2, 3)
    out = door.zeros(2, 3)
    for call, error in {
        "door.sin(x, out=out)": "requires grad",
        "door.sin(y, out=door.zeros(2, 3, requires_grad=True))": "requires grad",
        "door.sin(y, out=integers)": "can't be cast",
        "door.add(y, 1j, out=out)": "can't be cast",
        "door.sum(y, 0, out=out)": "shape",
        "door.sin(y, out=[out])": "Tensor",
        "door.max(y, 1, out=out)": "tuple of 2",
        "door.max(y, 1, out=(out[:, 0], out))": "shape",
        "door.sort(y, out=(out, whole, whole))": "tuple of 2",
    }.items():
        scope = {"door": door, "x": x, "y": y, "out": out, "whole": door.zeros(2, 3, dtype=door.int64)}
        scope["integers"] = door.zeros(2, 3, dtype=door.int64)
        with pytest.raises((RuntimeError, TypeError), match=error):
            eval(call, scope)
        assert out.sum().item() == 0 and scope["integers"].sum().item() == 0, call


def test_within_no_grad_nothing_is_recorded():
    x = door.ones(3, requires_grad=True)
    out = door.zeros(3)
    with door.no_grad():
        assert door.exp(x, out=out) is out
    assert not out.requires_grad
    assert out.tolist() == pytest.approx([np.e] * 3)


def test_results_are_cast_and_may_be_inputs():
    x = door.arange(4)
    out = door.empty(4, dtype=door.float64)
    assert door.add(x, x, out=out).dtype == door.float64
    y = door.ones(4)
    assert door.add(y, y, alpha=2, out=y) is y
    assert y.tolist() == [3.0] * 4
    base = door.zeros(2, 3)
    door.sin(door.ones(3), out=base[1])
    assert base[0].sum().item() == 0 and base[1].tolist() == pytest.approx([np.sin(1.0)] * 3)


def test_a_write_counts_as_one():
    """A rule that kept the tensor notices that out= wrote into it."""
    x = door.ones(3, requires_grad=True)
    kept = door.ones(3)
    y = x * kept
    door.exp(door.ones(3), out=kept)
    with pytest.raises(RuntimeError, match="modified"):
        y.sum().backward()


@pytest.mark.skipif(torch is None, reason="PyTorch is not in the test extra")
def test_the_same_arguments_are_refused_as_by_pytorch():
    """dtypes: what is written, and what is refused; of functions with one result."""
    for name in ("add", "mul", "sin", "true_divide", "bitwise_and", "square", "eq"):
        for kind in ("bool", "uint8", "int64", "float32", "float64", "complex64"):
            for into in ("bool", "int32", "float32", "complex128"):
                told = []
                for library in (door, torch):
                    x = library.ones(2, dtype=getattr(library, kind))
                    out = library.zeros(2, dtype=getattr(library, into))
                    args = (x,) if name in ("sin", "square") else (x, x)
                    try:
                        made = getattr(library, name)(*args, out=out)
                    except (RuntimeError, TypeError, ValueError):
                        told.append("refused")
                    else:
                        told.append((str(made.dtype).rpartition(".")[2], made.tolist()))
                if told[0] != "refused":
                    assert told[0][0] == told[1][0] and np.allclose(told[0][1], told[1][1]), (name, kind, into, told)
                else:
                    assert told[1] == "refused", (name, kind, into, told)


def test_out_of_lucidgrads_own():
    out = lg.zeros((2, 2))
    assert door.matmul(lg.ones((2, 2)), lg.ones((2, 2)), out=out) is out
    assert lg.all(out == 2)
