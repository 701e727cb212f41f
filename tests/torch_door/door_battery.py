"""What the calls of `door_calls` give: structure, dtypes, shapes, values and gradients.

``PYTHONPATH=.:tests python tests/torch_door/door_battery.py`` records what PyTorch gives, as one number of each array,
and ``... door_battery.py --compare`` counts how many calls give the same through the door.
"""

import json
import re
import sys
import warnings
from pathlib import Path

import door_calls
import numpy as np

RECORDED = Path(__file__).with_name("door_results.json")


def names_in(expression):
    """The arrays of an expression."""
    return [
        n for n in dict.fromkeys(re.findall(r"(?<![\w.'])[a-z]\w*(?!\w*=[^=])", expression)) if n in door_calls.GIVEN
    ]


@np.errstate(all="ignore")
def result(torch, expression):
    """What an expression gives: its structure, and the arrays in it with their gradient, one for each name."""
    given = {n: torch.asarray(np.array(door_calls.GIVEN[n])) for n in names_in(expression)}
    for n, value in given.items():
        if door_calls.GIVEN[n].dtype.kind in "fc":
            value.requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = eval(expression, {"torch": torch, "t": torch, "np": np, **given})
    parts = []
    structure = _taken_apart(found, torch, parts)
    total = None
    for k, part in enumerate(parts):
        if part.requires_grad:
            part = torch.view_as_real(part.resolve_conj()) if part.is_complex() else part
            weights = torch.asarray(np.cos(np.arange(part.numel()) + k).reshape(tuple(part.shape)))
            term = (part * weights.to(part.dtype)).sum().to(torch.float64)
            total = term if total is None else total + term
    gradients = {}
    if total is not None and total.requires_grad:
        total.backward()
        gradients = {n: _host(v.grad) for n, v in given.items() if v.grad is not None and v.grad.abs().sum() != 0}
    return structure, [_host(part) for part in parts], gradients


def _taken_apart(value, torch, parts):
    """The structure of a value in words; the tensors in it go to a list."""
    if isinstance(value, torch.Tensor):
        parts.append(value)
        return f"{str(value.dtype).rpartition('.')[2]}{list(value.shape)}" + "g" * value.requires_grad
    if isinstance(value, (tuple, list)):
        names = getattr(value, "_fields", None) or (hasattr(value, "n_fields") and type(value).__match_args__) or ()
        inside = [_taken_apart(part, torch, parts) for part in value]
        return f"({', '.join(f'{n}={s}' for n, s in zip(names, inside)) if names else ', '.join(inside)})"
    return repr(value) if isinstance(value, (bool, int, float, str)) else str(value).rpartition(".")[2]


def _host(tensor):
    return tensor.detach().resolve_conj().numpy()


def projected(array):
    """An array as one number that depends on each element and on its place."""
    flat = np.asarray(array).reshape(-1)
    parts = np.concatenate([flat.real, flat.imag]).astype(float) if flat.dtype.kind == "c" else flat.astype(float)
    parts = np.nan_to_num(parts, nan=1e3, posinf=2e3, neginf=-3e3)
    return float(f"{parts @ np.cos(np.arange(parts.size) * 2.3):.11g}")


def summary(torch, expression):
    """The result in few numbers."""
    structure, values, gradients = result(torch, expression)
    return [structure, [projected(a) for a in values], {n: projected(g) for n, g in gradients.items()}]


def difference(mine, theirs):
    """In what two results differ; empty where they don't."""
    if mine[0] != theirs[0]:
        return f"{mine[0]} beside {theirs[0]}"
    if mine[2].keys() != theirs[2].keys():
        return f"gradients of {sorted(mine[2])} beside {sorted(theirs[2])}"
    single = "float32" in mine[0] or "complex64" in mine[0] or any(n in "fg" for n in mine[2])
    tolerance = dict(rtol=2e-5, atol=2e-5) if single else dict(rtol=1e-9, atol=1e-9)
    for one, other in [*zip(mine[1], theirs[1], strict=True), *((mine[2][n], theirs[2][n]) for n in mine[2])]:
        if not np.allclose(one, other, equal_nan=True, **tolerance):
            return f"{np.asarray(one).reshape(-1)[:8].tolist()} beside {np.asarray(other).reshape(-1)[:8].tolist()}"
    return ""


def compared(door, torch):
    """All spellings that raise or give something else through the door, with what is wrong; and their number."""
    raising, different, number = {}, {}, 0
    for expression, spellings in door_calls.expressions().items():
        wanted = result(torch, expression)
        for spelling in spellings:
            number += 1
            try:
                note = difference(result(door, spelling), wanted)
            except Exception as error:
                raising[spelling] = f"{type(error).__name__}: {error}"
            else:
                if note:
                    different[spelling] = note
    return raising, different, number


def main(arguments):
    """Record what PyTorch gives, or compare."""
    import torch

    if arguments == ["--compare"]:
        import lucidgrad.torch as door

        raising, different, number = compared(door, torch)
        for title, found in (("raising", raising), ("different", different)):
            for spelling, note in found.items():
                print(f"{title}: {spelling}: {note}"[:300])
        wrong = len(raising), len(different)
        print(f"{number} calls: {number - sum(wrong)} the same, {wrong[0]} raising, {wrong[1]} different")
        return
    lines = [f"{json.dumps(e)}: {json.dumps(summary(torch, e))}" for e in door_calls.expressions()]
    RECORDED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(f"{len(lines)} calls of PyTorch {torch.__version__}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
