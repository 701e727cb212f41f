"""Modules that hold other modules or parameters in order or by name."""

import operator
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

import lucidgrad as lg
from lucidgrad.nn.module import Module
from lucidgrad.nn.parameter import Parameter

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


def _place(index: Any, size: int) -> int:
    """An index from either end, checked."""
    index = operator.index(index)
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of range")
    return index % size


class _Numbered(Module):
    """Submodules named 0, 1, 2, ..."""

    def _all(self) -> list[Module]:
        own = self.__dict__
        return [own[name] for name in self._module_names]

    def _replace(self, modules: Iterable[Any]) -> None:
        """Number the submodules anew."""
        made = list(modules)
        for name in list(self._module_names):
            delattr(self, name)
        for i, module in enumerate(made):
            self.add_module(str(i), module)

    def _name(self, index: Any) -> str:
        return list(self._module_names)[_place(index, len(self))]

    def __len__(self) -> int:
        return len(self._module_names)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._all())

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._module_names)
        for name in names[index] if isinstance(index, slice) else [self._name(index)]:
            delattr(self, name)
        self._replace(self._all())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Add a module before the one with an index."""
        modules = self._all()
        modules.insert(index, module)
        self._replace(modules)

    def pop(self, key: int | slice) -> Module:
        """Remove a module and return it."""
        found: Module = self[key]  # type: ignore[index]
        del self[key]
        return found


class Sequential(_Numbered):
    """Modules in a chain: each one takes what the one before gives.

    Parameters
    ----------
    *args : Module, or one ordered dict
        The modules, or modules by name.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> model = lg.nn.Sequential(lg.nn.Linear(4, 3), lg.nn.ReLU(), lg.nn.Linear(3, 1))
    >>> model(lg.ones(5, 4)).shape
    (5, 1)
    >>> model[1:]
    Sequential(
      (1): ReLU()
      (2): Linear(in_features=3, out_features=1, bias=True)
    )
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], Mapping):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(args):
                self.add_module(str(i), module)

    def forward(self, input: Any) -> Any:
        """Pass the input through all modules."""
        own = self.__dict__
        for name in self._module_names:
            input = own[name](input)
        return input

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)({name: self.__dict__[name] for name in list(self._module_names)[idx]})
        return self.__dict__[self._name(idx)]

    def __add__(self, other: Any) -> "Sequential":
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        for module in list(other):
            self.append(module)
        return self

    def __mul__(self, other: int) -> "Sequential":
        _check_times(other)
        return Sequential(*(self._all() * other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        _check_times(other)
        return self.extend(self._all() * (other - 1))

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add several modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Self:
        """Add a module before the one with an index."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        super().insert(index, module)
        return self


def _check_times(other: Any) -> None:
    if not isinstance(other, int):
        raise TypeError(f"unsupported operand type(s) for *: {type(Sequential)} and {type(other)}")
    if other <= 0:
        raise ValueError(f"Non-positive multiplication factor {other} for {type(Sequential)}")


class ModuleList(_Numbered):
    """A list of modules, which are its submodules.

    Parameters
    ----------
    modules : iterable of Module, optional
        The first members.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> layers = lg.nn.ModuleList([lg.nn.Linear(1, 1) for _ in range(3)])
    >>> len(layers), len(list(layers.parameters()))
    (3, 6)
    """

    _instead = "; call the modules in it one by one, or make an nn.Sequential of them"

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(self._all()[idx])
        return self.__dict__[self._name(idx)]

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> "ModuleList":
        return ModuleList([*self, *other])

    def insert(self, index: int, module: Module) -> None:
        """Add a module before the one with an index."""
        super().insert(index, module)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add several modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self) -> str:
        """Runs of equal members are shown once."""
        shown = [repr(module) for module in self]
        if not shown:
            return f"{self._get_name()}()"
        runs: list[tuple[int, int, str]] = []
        for i, text in enumerate(shown):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], i, text)
            else:
                runs.append((i, i, text))
        lines = []
        for first, last, text in runs:
            head = f"({first})" if first == last else f"({first}-{last})"
            text = text if first == last else f"{last - first + 1} x {text}"
            lines.append(f"{head}: {text}".replace("\n", "\n  "))
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """Modules by name, which are its submodules.

    Parameters
    ----------
    modules : mapping or iterable of pairs, optional
        The first members.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> heads = lg.nn.ModuleDict({"a": lg.nn.Linear(1, 1), "b": lg.nn.Identity()})
    >>> list(heads.state_dict())
    ['a.weight', 'a.bias']
    """

    _instead = "; call the modules in it one by one, or make an nn.Sequential of them"

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._module_names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._module_names)

    def __contains__(self, key: str) -> bool:
        return key in self._module_names

    def clear(self) -> None:
        """Remove all members."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove a member and return it."""
        found: Module = self[key]
        del self[key]
        return found

    def keys(self) -> Any:
        """The names."""
        return self._modules.keys()

    def items(self) -> Any:
        """The names and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add members from a mapping or from pairs."""
        for key, module in _pairs("ModuleDict.update", modules):
            self[key] = module


def _pairs(name: str, given: Any) -> list[tuple[str, Any]]:
    if not isinstance(given, Iterable):
        raise TypeError(f"{name} should be called with an iterable of key/value pairs, but got {type(given).__name__}")
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        return list(given.items())
    made = []
    for i, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} sequence element #{i} should be Iterable; is {type(pair).__name__}")
        entry = tuple(pair)
        if len(entry) != 2:
            raise ValueError(f"{name} sequence element #{i} has length {len(entry)}; 2 is required")
        made.append((entry[0], entry[1]))
    return made


def _shown(name: Any, value: Any) -> str:
    if not isinstance(value, lg.Tensor):
        return f"({name}): Object of type: {type(value).__name__}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    where = f" ({str(value.device).upper().replace('CUDA', 'GPU ')})" if value.is_cuda else ""
    size = "x".join(map(str, value.shape))
    return f"({name}): {kind} containing: [{value.dtype} of size {size}{where}]"


def _as_member(value: Any) -> Any:
    return Parameter(value) if isinstance(value, lg.Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """A list of parameters; tensors become parameters, other objects are kept as they are.

    Parameters
    ----------
    values : iterable, optional
        The first members.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> weights = lg.nn.ParameterList([lg.ones(2), lg.ones(3)])
    >>> [p.shape for p in weights]
    [(2,), (3,)]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, slice):
            return type(self)(getattr(self, str(i)) for i in range(*idx.indices(len(self))))
        return getattr(self, str(_place(idx, len(self))))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, str(_place(idx, len(self))), _as_member(param))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([getattr(self, str(i)) for i in range(self._size)])

    def __iadd__(self, parameters: Iterable[Any]) -> Self:
        return self.extend(parameters)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> Self:
        """Add a member at the end."""
        setattr(self, str(self._size), _as_member(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add several members at the end."""
        if isinstance(values, lg.Tensor) or not hasattr(values, "__iter__"):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self) -> str:
        """One line per member."""
        lines = [_shown(i, value) for i, value in enumerate(self) if not isinstance(value, Module)]
        return "\n".join(f"  {line}" for line in lines)


class ParameterDict(Module):
    """Parameters by name; tensors become parameters, other objects are kept as they are.

    Parameters
    ----------
    parameters : mapping or iterable of pairs, optional
        The first members.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> weights = lg.nn.ParameterDict({"w": lg.ones(2)})
    >>> weights["w"].requires_grad
    True
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return self.__dict__[str(key)]

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self, str(key), _as_member(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, str(key))

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> "ParameterDict":
        """Another one with the same members."""
        return ParameterDict(dict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The member with a name; ``default`` becomes it if there is none."""
        if key not in self._keys:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all members."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove a member and return it."""
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """Remove the last member and return its name and itself."""
        key = next(reversed(self))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The member with a name, or ``default``."""
        return self[key] if key in self._keys else default

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> "ParameterDict":
        """Another one that has ``default`` under each name."""
        return ParameterDict((key, default) for key in keys)

    def keys(self) -> Any:
        """The names."""
        return self._keys.keys()

    def items(self) -> Iterable[tuple[str, Any]]:
        """The names and members."""
        return [(key, self[key]) for key in self._keys]

    def values(self) -> Iterable[Any]:
        """The members."""
        return [self[key] for key in self._keys]

    def update(self, parameters: Any) -> None:
        """Add members from a mapping or from pairs."""
        for key, value in _pairs("ParameterDict.update", parameters):
            self[key] = value

    def extra_repr(self) -> str:
        """One line per member."""
        return "\n".join(f"  {_shown(key, value)}" for key, value in self.items() if not isinstance(value, Module))

    def __or__(self, other: "ParameterDict") -> "ParameterDict":
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other: "ParameterDict") -> Self:
        self.update(other)
        return self


class Container(Module):
    """A module with given submodules, from before `Module` did all this: it warns.

    Examples
    --------
    >>> import warnings
    >>> import lucidgrad as lg
    >>> with warnings.catch_warnings(action="ignore"):
    ...     lg.nn.Container(first=lg.nn.Identity()).first
    Identity()
    """

    def __init__(self, **kwargs: Any) -> None:
        warnings.warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that "
            "instead.",
            FutureWarning,
            stacklevel=3,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)
