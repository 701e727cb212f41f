"""The page of what each device computes, made from the table that the laws check."""

from pathlib import Path

from devices.survey import DEVICES, LONG, REFUSED, SLOW

PAGE = Path(__file__).parents[2] / "docs" / "devices.md"

INTRODUCTION = """# Devices of other libraries

Beside `"cpu"` and `"cuda"`, the arrays of four libraries are devices, each where its library is installed. What they
compute is what the CPU computes, in values and gradients; what a library can't do raises a `DeviceError` (a dtype a
`TypeError`) that names the device and what is missing. This page is written by `python -m tests.devices`, and every
entry is checked by `LUCIDGRAD_NIGHTLY=1 pytest tests/devices`.

| device | primitives refused | in place | dtypes refused |
|---|---|---|---|
"""

WRITES = {
    "strict": "as on the CPU",
    "torch": "as on the CPU; `flip` and backward slices are copies: neither they nor their base can be written",
    "jax": "a tensor gets another array; refused while it is a view, or has views",
    "dask": "a tensor gets another array; refused while it is a view, or has views",
}
DTYPES = {"strict": "float16, bfloat16", "torch": "bfloat16", "jax": "bfloat16", "dask": "float16, bfloat16"}

REST = """
Layers, losses and optimisers work where their primitives do: on all four a network of linear and normalised layers
takes the CPU's steps. Gradients of gradients are compared on {quick}; on {slow}, which compile or schedule every
operation, first gradients and one sample each, without the families of long programs ({long}).

JAX has 64-bit dtypes only with `jax_enable_x64`. Dask computes when values are asked for, and does so for a write by
an array of positions. A device name has no index, but for `"strict:1"` and `"strict:2"`.

## What is refused
"""


def page():
    """The text."""
    made = INTRODUCTION
    for device in DEVICES:
        made += f"| `{device}` | {len(REFUSED.get(device, ()))} | {WRITES[device]} | {DTYPES[device]} |\n"
    quick = " and ".join(f"`{device}`" for device in DEVICES if device not in SLOW)
    slow = " and ".join(f"`{device}`" for device in DEVICES if device in SLOW)
    made += REST.format(quick=quick, slow=slow, long=", ".join(sorted(LONG)))
    for device in DEVICES:
        words = ", ".join(f"`{name}`" for name in REFUSED.get(device, ())) or "nothing"
        made += f"\n- `{device}`: {words}{NOTES.get(device, '')}."
    return made + "\n"


NOTES = {
    "torch": " (transforms of empty arrays; sets)",
    "dask": " (there is no `take_along_axis`; few decompositions; masks as keys)",
}
