"""The debug mode: before a collective starts, processes compare what each is about to do, and name a difference.

LUCIDGRAD_DISTRIBUTED_DEBUG=1 turns it on. It costs a round of messages for each collective.
"""

import contextlib
import json
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from lucidgrad.core import device as devices

from .groups import ProcessGroup
from .work import DistError

_WIDTH = 1024  # bytes of a fingerprint

#: What the operations of this moment are for, where their names do not say it.
_purpose: ContextVar[str | None] = ContextVar("purpose", default=None)


@contextlib.contextmanager
def meant_for(group: ProcessGroup, purpose: str) -> Iterator[None]:
    """Say what operations are for: it has to be the same in all processes, and is named where something differs."""
    if not group.compares:
        yield
        return
    token = _purpose.set(purpose)
    try:
        yield
    finally:
        _purpose.reset(token)


def compare(
    name: str,
    group: ProcessGroup,
    tensors: Sequence[Any],
    words: dict[str, Any],
    parts: tuple[Sequence[int], Sequence[int]] | None = None,
) -> None:
    """Raise, in every process, if they are not about to do the same.

    ``parts`` are sizes that may differ: what this one sends to each, and what it expects from each.
    """
    engine = group.host
    if engine is None or group.size() == 1:
        return
    mine = {"operation": name, "number": group.started + 1, **{k: _plain(v) for k, v in words.items()}}
    if (purpose := _purpose.get()) is not None:
        mine["for"] = purpose
    for i, x in enumerate(tensors):
        mine[f"shape of tensor {i}" if i else "shape"] = list(x.shape)
        mine[f"dtype of tensor {i}" if i else "dtype"] = str(x.dtype)
    own = {"same": mine, "sent": parts and list(parts[0]), "received": parts and list(parts[1])}
    text = json.dumps(own).encode()
    if len(text) > _WIDTH:  # of very many processes, or axes
        text = json.dumps({"same": {"operation": name, "number": group.started + 1}, "sent": None}).encode()
    text = text.ljust(_WIDTH)
    cpu = devices.backend_named("cpu")
    source, target = cpu.asarray(list(text), "uint8"), cpu.zeros((_WIDTH * group.size(),), "uint8", "cpu")
    try:
        engine.all_gather(source, target).wait(group.timeout)
    except TimeoutError:
        raise DistError(
            f"{name}: process {group.rank()} of {group!r} waited {group.timeout:g} s; another one starts no operation"
        ) from None
    said = [bytes(target[i * _WIDTH : (i + 1) * _WIDTH].tolist()).decode() for i in range(group.size())]
    all_of_them = [json.loads(text) for text in said]
    if any(one["same"] != all_of_them[0]["same"] for one in all_of_them):
        raise DistError(_difference(group, [one["same"] for one in all_of_them]))
    if parts is not None and all(one["sent"] is not None for one in all_of_them):
        _check_parts(name, group, all_of_them)


def _check_parts(name: str, group: ProcessGroup, said: list[dict[str, Any]]) -> None:
    for i, sender in enumerate(said):
        for j, receiver in enumerate(said):
            sent, expected = sender["sent"][j], receiver["received"][i]
            if sent != expected:
                raise DistError(
                    f"{name}: process {group.ranks[i]} sends {sent} to process {group.ranks[j]}, which expects "
                    f"{expected}"
                )


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _difference(group: ProcessGroup, said: list[dict[str, Any]]) -> str:
    first = said[0]
    lines = []
    for i, other in enumerate(said[1:], 1):
        for what in {**first, **other}:
            if first.get(what) != other.get(what):
                both = (
                    f"{one.get(what)!r} in process {group.ranks[k]}"
                    + (f", for {one['for']}" if "for" in one and what != "for" else "")
                    for k, one in ((0, first), (i, other))
                )
                lines.append(f"{what}: {', '.join(both)}")
                break
    return (
        f"{first['operation']}: the processes of {group.name()!r} are about to do different things at operation "
        f"{first['number']}: {'; '.join(lines)}; all must make the same calls in the same order"
    )
