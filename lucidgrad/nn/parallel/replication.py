"""One module on several devices of a machine: a batch is cut into parts, each device computes one."""

from collections.abc import Iterable, Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.func import functional_call, trees
from lucidgrad.nn.module import Module


class DataParallel(Module):
    """A module whose calls are shared by several devices.

    The inputs are cut along an axis, the module runs on each device with copies of its parameters, and the outputs are
    joined. Gradients arrive in the module's own parameters; buffers that the first device's part writes are kept.
    Without a CUDA device, or with one, the module is called as it is. Names in ``state_dict`` begin with ``module.``.

    Parameters
    ----------
    module : Module
        What to call; it has to be on the first device.
    device_ids : sequence of int or device, optional
        The devices; by default all of CUDA.
    output_device : int or device, optional
        Where the outputs go; by default to the first device.
    dim : int
        The axis that inputs are cut along.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> model = lg.nn.DataParallel(lg.nn.Linear(3, 2), device_ids=["cpu", "cpu"])
    >>> model(lg.ones(4, 3)).shape, list(model.state_dict())
    ((4, 2), ['module.weight', 'module.bias'])
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids = _devices(device_ids)
        self.output_device = _place(output_device) if output_device is not None else (self.device_ids or [None])[0]

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """The module's outputs of all parts."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        return data_parallel(self.module, inputs, self.device_ids, self.output_device, self.dim, kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call a module with a part of the inputs on each device, and join what it gives; see `DataParallel`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layer = lg.nn.Linear(2, 1)
    >>> lg.nn.parallel.data_parallel(layer, lg.ones(4, 2), device_ids=[]).shape  # no devices: as it is
    (4, 1)
    """
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    devices = _devices(device_ids)
    if not devices:
        return module(*inputs, **(module_kwargs or {}))
    first = devices[0]
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    for name, value in state.items():
        if value.device != first:
            raise RuntimeError(
                f"DataParallel: {name} is on {value.device}, expected on {first}, the first of the devices; move the "
                f"module there"
            )
    parts = _scattered((inputs, module_kwargs or {}), devices, dim)
    outputs = []
    for i, (device, (args, kwargs)) in enumerate(zip(devices, parts)):
        if i == 0:
            outputs.append(module(*args, **kwargs))
        else:
            copies = {name: _copy(value, device) for name, value in state.items()}
            outputs.append(functional_call(module, copies, args, kwargs))
    return _gathered(outputs, first if output_device is None else _place(output_device), dim)


def _place(device: Any) -> Any:
    return lg.empty(0, device=lg.device(device)).device  # the very one, with its index


def _devices(given: Iterable[Any] | None) -> list[Any]:
    return [_place(device) for device in (range(lg.cuda.device_count()) if given is None else given)]


def _copy(value: lg.Tensor, device: Any) -> lg.Tensor:
    """A parameter with its history, or a buffer that may be written, on a device."""
    return value.to(device) if value.device != device else value.clone()


def _scattered(tree: Any, devices: list[Any], dim: int) -> list[Any]:
    """The parts of all tensors by device: as many as there are parts."""
    leaves, shape = trees.flatten(tree)
    cut = [leaf.chunk(len(devices), dim) if isinstance(leaf, lg.Tensor) else None for leaf in leaves]
    count = min((len(parts) for parts in cut if parts is not None), default=1)
    if any(parts is not None and len(parts) != count for parts in cut):
        sizes = sorted({leaf.shape[dim] for leaf in leaves if isinstance(leaf, lg.Tensor)})
        raise RuntimeError(f"DataParallel: given inputs of lengths {sizes} along axis {dim}, expected one length")
    return [
        trees.unflatten(shape, [leaf if p is None else p[i].to(device) for leaf, p in zip(leaves, cut)])
        for i, device in enumerate(devices[:count])
    ]


def _gathered(outputs: list[Any], device: Any, dim: int) -> Any:
    """The outputs of all parts, joined on one device."""
    flat = [trees.flatten(output)[0] for output in outputs]
    shape = trees.flatten(outputs[0])[1]
    joined = []
    for parts in zip(*flat, strict=True):
        if not isinstance(parts[0], lg.Tensor):
            joined.append(parts[0])
        elif parts[0].ndim == 0:  # such as losses, one from each device
            joined.append(lg.stack([part.to(device) for part in parts]))
        else:
            joined.append(lg.cat([part.to(device) for part in parts], dim))
    return trees.unflatten(shape, joined)
