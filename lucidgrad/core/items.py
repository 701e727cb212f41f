"""What a node keeps of a call: each item knows where its value comes from, and how it becomes a tensor again."""

from typing import Any, NamedTuple

from . import device


class Meta(NamedTuple):
    """What a rule may know of an input that it does not keep."""

    shape: tuple[int, ...]
    dtype: Any
    device: Any

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        size = 1
        for n in self.shape:
            size *= n
        return size


_tuple_new = tuple.__new__  # a NamedTuple's own constructor takes three times as long


def meta_of(array: Any) -> Meta:
    """Shape, dtype and device of a raw array."""
    return _tuple_new(Meta, (array.shape, array.dtype, device.by_array[type(array)].device_of(array)))


class Words(NamedTuple):
    """What a piece of source code calls the parts of a call."""

    output: str = "y"
    inputs: str = "xs"
    input: str = "xs[{}]"
    keyword: str = "keywords[{!r}]"
    meta: str = "meta"


class Item:
    """Something that is kept, ``at`` being the position or the name of what it is. Equal items are one."""

    __slots__ = ("at",)
    is_array = False  # or a tuple of arrays

    def __init__(self, at: Any = None) -> None:
        self.at = at

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.at == self.at

    def __hash__(self) -> int:
        return hash((type(self), self.at))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.at is None else repr(self.at)})"

    def source(self, words: Words) -> str:
        """Where the value comes from, as source code."""
        raise AssertionError  # every item that rules ask for has one

    def argument(self, value: str) -> str:
        """How a rule is given the value, as source code."""
        return value

    def describe(self, inputs: tuple[str, ...]) -> str:
        """In words, given the names of the primitive's inputs."""
        raise AssertionError  # every item has some

    def meta(self, i: int, value: Any) -> Meta | None:
        """What the value tells of input ``i``."""
        return None

    def revive(self, value: str, only: int | None) -> list[str]:
        """Lines of source code that make a tensor with its history of the value that has this name.

        ``only`` is the input that gets a gradient, where just one does: its node is the origin itself.
        """
        return []


def _boxed(value: str, node: str) -> list[str]:
    """`dispatch.box` written out; walks are never in inference mode."""
    return ["t = blank()", f"t.array = {value}", f"t._node = {node}", "t._alias = None", f"{value} = t"]


class Result(Item):
    """The result; a tuple where there are several."""

    __slots__ = ()
    is_array = True

    def source(self, words: Words) -> str:
        return words.output

    def describe(self, inputs: tuple[str, ...]) -> str:
        return "its output"

    def revive(self, value: str, only: int | None) -> list[str]:
        several = ["if type(node) is Fork:", f"    {value} = outputs(node, {value})", "else:"]
        return [*several, *(f"    {line}" for line in _boxed(value, "node"))]


class Part(Item):
    """One of several results."""

    __slots__ = ()
    is_array = True

    def source(self, words: Words) -> str:
        return f"{words.output}[{self.at}]"

    def describe(self, inputs: tuple[str, ...]) -> str:
        return f"its output {self.at}"

    def revive(self, value: str, only: int | None) -> list[str]:
        return [f"{value} = box({value}, end(node, {self.at}))"]


class Input(Item):
    """An input, which may be a Python number."""

    __slots__ = ()
    is_array = True

    def source(self, words: Words) -> str:
        return words.input.format(self.at)

    def describe(self, inputs: tuple[str, ...]) -> str:
        return f"its input {inputs[self.at]}"

    def meta(self, i: int, value: Any) -> Meta | None:
        return meta_of(value) if i == self.at and type(value) in device.by_array else None

    def revive(self, value: str, only: int | None) -> list[str]:
        origin = f"node.origin[{self.at}]" if only is None else "node.origin" if self.at == only else "None"
        return [f"if type({value}) in arrays:", *(f"    {line}" for line in _boxed(value, origin))]


class InputMeta(Item):
    """Shape, dtype and device of an input."""

    __slots__ = ()

    def source(self, words: Words) -> str:
        return f"{words.meta}({words.input.format(self.at)})"

    def describe(self, inputs: tuple[str, ...]) -> str:
        return f"the shape of its input {inputs[self.at]}"

    def meta(self, i: int, value: Any) -> Meta | None:
        return value if i == self.at else None


class Inputs(Item):
    """All inputs, where there may be any number of them."""

    __slots__ = ()
    is_array = True

    def source(self, words: Words) -> str:
        return f"tuple({words.inputs})"

    def describe(self, inputs: tuple[str, ...]) -> str:
        return f"its input {inputs[0]}"

    def meta(self, i: int, value: Any) -> Meta | None:
        return meta_of(value[i]) if type(value[i]) in device.by_array else None

    def revive(self, value: str, only: int | None) -> list[str]:
        return [f"{value} = tuple(map(box, {value}, node.inputs))"]


class InputMetas(Item):
    """Shapes, dtypes and devices of all inputs."""

    __slots__ = ()

    def source(self, words: Words) -> str:
        return f"tuple(map({words.meta}, {words.inputs}))"

    def describe(self, inputs: tuple[str, ...]) -> str:
        return "the shapes of its inputs"

    def meta(self, i: int, value: Any) -> Meta | None:
        return value[i]


class Keyword(Item):
    """Metadata of the call."""

    __slots__ = ()

    def source(self, words: Words) -> str:
        return words.keyword.format(self.at)

    def argument(self, value: str) -> str:
        return f"{self.at}={value}"

    def describe(self, inputs: tuple[str, ...]) -> str:
        return f"its {self.at}"


class Own(Item):
    """What a user's function made and keeps."""

    __slots__ = ()
    is_array = True

    def describe(self, inputs: tuple[str, ...]) -> str:
        return "a value it saved"
