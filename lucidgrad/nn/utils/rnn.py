"""Sequences of different lengths in one tensor: packed one step after the other, or padded to one length."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby, pairwise
from typing import Any, NamedTuple, Self

import lucidgrad as lg
from lucidgrad.refusals import guard as _guard

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class _Parts(NamedTuple):
    data: lg.Tensor
    batch_sizes: lg.Tensor
    sorted_indices: lg.Tensor | None
    unsorted_indices: lg.Tensor | None


class PackedSequence(_Parts):
    """Sequences of different lengths without padding: step by step, the longest sequence first in each step.

    `pack_padded_sequence` and `pack_sequence` make them; recurrent layers take them and give them.

    Parameters
    ----------
    data : Tensor
        All elements: those of the first step, then those of the second step, and so on.
    batch_sizes : Tensor
        How many sequences each step has, in int64 on the CPU.
    sorted_indices, unsorted_indices : Tensor, optional
        Which of the original sequences is in each place, and in which place each original sequence is.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils.rnn import pack_sequence
    >>> packed = pack_sequence([lg.tensor([1, 2, 3]), lg.tensor([4, 5]), lg.tensor([6])])
    >>> packed.data.tolist(), packed.batch_sizes.tolist()
    ([1, 4, 6, 2, 5, 3], [3, 2, 1])
    """

    def __new__(  # noqa: D102
        cls,
        data: Any,
        batch_sizes: lg.Tensor | None = None,
        sorted_indices: lg.Tensor | None = None,
        unsorted_indices: lg.Tensor | None = None,
    ) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("given no batch_sizes, expected data to be a pair of data and batch_sizes")
            data, batch_sizes = data
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                f"given batch_sizes on {batch_sizes.device}, expected them on the CPU: pack_sequence and "
                f"pack_padded_sequence make them so"
            )
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with(self, data: lg.Tensor) -> Self:
        """Other data, with the indices on the same device."""
        if data is self.data:
            return self
        moved = [None if t is None else t.to(data.device) for t in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(data, self.batch_sizes, *moved)

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """With data on another device or of another dtype; itself if it is that already."""
        return self._with(self.data.to(*args, **kwargs))

    def cuda(self, *args: Any, **kwargs: Any) -> Self:
        """With data on a CUDA device."""
        return self._with(self.data.cuda(*args, **kwargs))

    def cpu(self) -> Self:
        """With data on the CPU."""
        return self._with(self.data.cpu())

    def pin_memory(self) -> Self:
        """With data in page-locked memory."""
        moved = [None if t is None else t.pin_memory() for t in (self.sorted_indices, self.unsorted_indices)]
        return type(self)(self.data.pin_memory(), self.batch_sizes, *moved)

    def double(self) -> Self:
        """With data of dtype float64."""
        return self.to(dtype=lg.float64)

    def float(self) -> Self:
        """With data of dtype float32."""
        return self.to(dtype=lg.float32)

    def half(self) -> Self:
        """With data of dtype float16."""
        return self.to(dtype=lg.float16)

    def long(self) -> Self:
        """With data of dtype int64."""
        return self.to(dtype=lg.int64)

    def int(self) -> Self:
        """With data of dtype int32."""
        return self.to(dtype=lg.int32)

    def short(self) -> Self:
        """With data of dtype int16."""
        return self.to(dtype=lg.int16)

    def char(self) -> Self:
        """With data of dtype int8."""
        return self.to(dtype=lg.int8)

    def byte(self) -> Self:
        """With data of dtype uint8."""
        return self.to(dtype=lg.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in page-locked memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: lg.Tensor | None) -> lg.Tensor | None:
    """The permutation that undoes another one.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.nn.utils.rnn.invert_permutation(lg.tensor([2, 0, 1])).tolist()
    [1, 2, 0]
    """
    if permutation is None:
        return None
    count = lg.arange(permutation.shape[0], dtype=permutation.dtype, device=permutation.device)
    made: lg.Tensor = lg.scatter(lg.empty_like(permutation), 0, permutation, count)
    return made


def _listed(lengths: Any) -> list[int]:
    return [int(n) for n in (lengths.tolist() if hasattr(lengths, "tolist") else lengths)]


def _rows(places: list[int], sizes: list[int], steps: int, batch: int, batch_first: bool, device: Any) -> lg.Tensor:
    """Where each packed element is among the rows of a padded tensor whose first two axes are one."""
    flat = [
        places[b] * steps + t if batch_first else t * batch + places[b] for t, n in enumerate(sizes) for b in range(n)
    ]
    return lg.tensor(flat, dtype=lg.int64, device=device)


def pack_padded_sequence(
    input: lg.Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack sequences that are padded to one length.

    Parameters
    ----------
    input : Tensor
        ``(time, batch, *)``, or ``(batch, time, *)`` with ``batch_first``.
    lengths : sequence of int, or Tensor on the CPU
        How long each sequence is; what comes after is left out.
    batch_first : bool
        Whether the batch is the first axis.
    enforce_sorted : bool
        Whether the lengths must decrease; if not, sequences are sorted, and the result remembers how.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils.rnn import pack_padded_sequence
    >>> x = lg.tensor([[1.0, 2.0, 0.0], [3.0, 0.0, 0.0], [4.0, 5.0, 6.0]], requires_grad=True)
    >>> packed = pack_padded_sequence(x, [2, 1, 3], batch_first=True, enforce_sorted=False)
    >>> packed.data.tolist(), packed.sorted_indices.tolist()
    ([4.0, 1.0, 3.0, 5.0, 2.0, 6.0], [2, 0, 1])
    >>> packed.data.sum().backward()
    >>> x.grad.tolist()
    [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 1.0]]
    """
    if isinstance(lengths, lg.Tensor) and (lengths.device.type != "cpu" or lengths.ndim != 1):
        raise RuntimeError(
            f"pack_padded_sequence: given lengths of shape {lengths.shape} on {lengths.device}, expected one axis on "
            f"the CPU"
        )
    known = _listed(lengths)
    if input.ndim < 2:
        raise RuntimeError(
            f"pack_padded_sequence: given an input of shape {input.shape}, expected (time, batch, *) or, with "
            f"batch_first, (batch, time, *)"
        )
    batch, steps = input.shape[:2] if batch_first else input.shape[1::-1]
    if input.size == 0:
        raise RuntimeError("pack_padded_sequence: given a tensor without elements, expected sequences")
    if len(known) != batch:
        raise RuntimeError(
            f"pack_padded_sequence: given {len(known)} lengths for a batch of {batch} sequences, expected as many"
        )
    if min(known) <= 0:
        raise RuntimeError("pack_padded_sequence: given a length that is not above 0, expected sequences with elements")
    if max(known) > steps:
        raise RuntimeError(f"pack_padded_sequence: given a length of {max(known)}, expected at most {steps} steps")
    places, indices = list(range(batch)), None
    if enforce_sorted:
        if any(a < b for a, b in pairwise(known)):
            raise RuntimeError(
                "pack_padded_sequence: given lengths that are not sorted in decreasing order, expected it; pass "
                "enforce_sorted=False to have them sorted"
            )
    else:
        places.sort(key=lambda b: -known[b])
        indices = lg.tensor(places, dtype=lg.int64, device=input.device)
    sizes = [sum(n > t for n in known) for t in range(max(known))]
    rows = _rows(places, sizes, steps, batch, batch_first, input.device)
    data: lg.Tensor = lg.take(lg.reshape(input, (batch * steps, *input.shape[2:])), rows, axis=0)
    return PackedSequence(data, lg.tensor(sizes, dtype=lg.int64), indices)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[lg.Tensor, lg.Tensor]:
    """Padded sequences in their original order, and their lengths: undoes `pack_padded_sequence`.

    Parameters
    ----------
    sequence : PackedSequence
        What was packed.
    batch_first : bool
        Whether the batch becomes the first axis, and not the second.
    padding_value : float
        What comes after the end of a sequence.
    total_length : int, optional
        How many steps there are: at least as many as the longest sequence has, which is the default.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils.rnn import pack_sequence, pad_packed_sequence
    >>> padded, lengths = pad_packed_sequence(pack_sequence([lg.tensor([1, 2]), lg.tensor([3])]), batch_first=True)
    >>> padded.tolist(), lengths.tolist()
    ([[1, 2], [3, 0]], [2, 1])
    """
    sizes = _listed(sequence.batch_sizes)
    steps, batch, data = len(sizes) if total_length is None else total_length, sizes[0], sequence.data
    if steps < len(sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(sizes)}"
        )
    lengths = [sum(b < n for n in sizes) for b in range(batch)]
    places = list(range(batch)) if sequence.sorted_indices is None else _listed(sequence.sorted_indices)
    rows = _rows(places, sizes, steps, batch, batch_first, data.device)
    rest = tuple(data.shape[1:])
    padding = lg.full((batch * steps, *rest), padding_value, dtype=data.dtype, device=data.device)
    padded: lg.Tensor = lg.index_copy(padding, 0, rows, data)
    padded = lg.reshape(padded, (batch, steps, *rest) if batch_first else (steps, batch, *rest))
    in_order = dict(zip(places, lengths, strict=True))
    return padded, lg.tensor([in_order[b] for b in range(batch)], dtype=lg.int64)


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> lg.Tensor:
    """Stack sequences of different lengths, padded to the longest.

    Parameters
    ----------
    sequences : iterable of Tensor
        Each ``(length, *)``.
    batch_first : bool
        Whether the new axis is the first, and not the second.
    padding_value : float
        What is added.
    padding_side : {"right", "left"}
        After the end, or before the beginning.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils.rnn import pad_sequence
    >>> x = lg.tensor([1.0, 2.0], requires_grad=True)
    >>> y = pad_sequence([x, lg.ones(3)], batch_first=True)
    >>> y.sum().backward()
    >>> y.tolist(), x.grad.tolist()
    ([[1.0, 2.0, 0.0], [1.0, 1.0, 1.0]], [1.0, 1.0])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    listed = list(sequences)
    if not listed:
        raise RuntimeError("pad_sequence: received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"pad_sequence: Expected padding_side to be one of left or right, but got {padding_side}.")
    longest = max(s.shape[0] for s in listed)
    made = []
    for s in listed:
        missing = longest - s.shape[0]
        if missing:
            more = lg.full((missing, *s.shape[1:]), padding_value, dtype=s.dtype, device=s.device)
            s = lg.concat([s, more] if padding_side == "right" else [more, s], axis=0)
        made.append(s)
    stacked: lg.Tensor = lg.stack(made, axis=0 if batch_first else 1)
    return stacked


def unpad_sequence(padded_sequences: lg.Tensor, lengths: Any, batch_first: bool = False) -> list[lg.Tensor]:
    """The sequences of a padded tensor, each as long as it is: undoes `pad_sequence`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils.rnn import pad_sequence, unpad_sequence
    >>> padded = pad_sequence([lg.tensor([1, 2]), lg.tensor([3])])
    >>> [s.tolist() for s in unpad_sequence(padded, lg.tensor([2, 1]))]
    [[1, 2], [3]]
    """
    known = _listed(lengths)
    batch = padded_sequences.shape[0 if batch_first else 1]
    if len(known) != batch:
        raise ValueError(f"unpad_sequence: given {len(known)} lengths for {batch} sequences, expected as many")
    return [lg.clone(padded_sequences[k, :n] if batch_first else padded_sequences[:n, k]) for k, n in enumerate(known)]


def pack_sequence(sequences: Sequence[lg.Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths.

    Parameters
    ----------
    sequences : sequence of Tensor
        Each ``(length, *)``.
    enforce_sorted : bool
        Whether the lengths must decrease; if not, sequences are sorted, and the result remembers how.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils.rnn import pack_sequence
    >>> pack_sequence([lg.tensor([1]), lg.tensor([2, 3])], enforce_sorted=False).data.tolist()
    [2, 1, 3]
    """
    lengths = [s.shape[0] for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[lg.Tensor]:
    """The sequences that were packed, in their original order: undoes `pack_sequence`.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils.rnn import pack_sequence, unpack_sequence
    >>> [s.tolist() for s in unpack_sequence(pack_sequence([lg.tensor([1]), lg.tensor([2, 3])], enforce_sorted=False))]
    [[1], [2, 3]]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def stretches(sequence: PackedSequence) -> list[lg.Tensor]:
    """The data in parts ``(time, batch, *)``, each as long as no sequence ends; they share its memory.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.nn.utils.rnn import pack_sequence, stretches
    >>> [part.tolist() for part in stretches(pack_sequence([lg.tensor([1, 2, 3]), lg.tensor([4, 5])]))]
    [[[1, 4], [2, 5]], [[3]]]
    """
    runs = [(size, len(list(run))) for size, run in groupby(_listed(sequence.batch_sizes))]
    ends = accumulate(size * steps for size, steps in runs)
    rest = tuple(sequence.data.shape[1:])
    return [
        lg.reshape(sequence.data[end - size * steps : end], (steps, size, *rest))
        for end, (size, steps) in zip(ends, runs, strict=True)
    ]


_guard(__name__, __all__)
