"""How exact results must be: the same to the last bit from run to run; products of float32 in all their bits.

On the CPU they always are.
"""

_enabled = False
_precision = "highest"
_PRECISIONS = ("highest", "high", "medium")


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Choose algorithms that give the same bits every time, where a faster one would not.

    On CUDA that is adding at positions (the gradient of indexing, `take`, embeddings): it sorts the positions
    instead of adding with atomic operations, whose order changes; and the gradient of attention's queries, which have
    a launch of their own then. All else is deterministic anyway, so there is nothing to warn of.

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


def set_float32_matmul_precision(precision: str) -> None:
    """Choose how exact products of matrices of float32 are on CUDA, where fewer bits are many times faster.

    Parameters
    ----------
    precision
        ``"highest"``: all bits of float32. ``"high"``: factors are rounded to the 11 bits of TF32 that tensor cores
        multiply. ``"medium"``: to the 8 bits of bfloat16. Sums are float32 in any case. Products inside of
        convolutions, and all on the CPU, have all bits.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.set_float32_matmul_precision("high")
    >>> lg.get_float32_matmul_precision()
    'high'
    >>> lg.set_float32_matmul_precision("highest")
    """
    global _precision
    if precision not in _PRECISIONS:
        raise RuntimeError(f"set_float32_matmul_precision: given {precision!r}, expected 'highest', 'high' or 'medium'")
    _precision = precision


def get_float32_matmul_precision() -> str:
    """How exact products of float32 are: what `set_float32_matmul_precision` chose.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> lg.get_float32_matmul_precision()
    'highest'
    """
    return _precision
