"""Whether results must be the same to the last bit from run to run. On the CPU they always are."""

_enabled = False


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Choose algorithms that give the same bits every time, where a faster one would not.

    On CUDA that is adding at positions (the gradient of indexing, `take`, embeddings): it sorts the positions
    instead of adding with atomic operations, whose order changes. All else is deterministic anyway, so there is
    nothing to warn of.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> from lucidgrad.determinism import use_deterministic_algorithms
    >>> use_deterministic_algorithms(False)
    """
    global _enabled
    _enabled = bool(mode)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` is on.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.are_deterministic_algorithms_enabled()
    False
    """
    return _enabled
