"""Attention of 16-bit numbers by products, whatever their sizes."""

import contextlib
from collections.abc import Iterator

from lucidgrad.backends.cuda.kernels import attention_products


@contextlib.contextmanager
def always(room: int = 64 << 20, by_products: bool = True) -> Iterator[list[tuple[int, ...]]]:
    """Attention that can be computed by products is, or is not; gives the sizes for which that was asked."""
    asked: list[tuple[int, ...]] = []
    usual = attention_products.is_faster, attention_products.ROOM

    def is_faster(*sizes: int) -> bool:
        asked.append(sizes)
        return by_products and 0 not in sizes[:3]

    attention_products.is_faster, attention_products.ROOM = is_faster, room
    try:
        yield asked
    finally:
        attention_products.is_faster, attention_products.ROOM = usual
