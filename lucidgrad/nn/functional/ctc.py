"""Connectionist temporal classification: the loss of sequences whose alignment with their labels is not known."""

from collections.abc import Sequence
from typing import Any

import lucidgrad as lg
from lucidgrad.amp import in_precision
from lucidgrad.ops.ctc import path_logsumexp
from lucidgrad.tensor import Tensor

from .arguments import on_host, reduced

__all__ = ["ctc_loss"]


def _lengths(name: str, given: Any, n: int, most: int | None, like: Any) -> tuple[Any, list[int] | None]:
    """Lengths on the input's device, and as numbers where those are at hand."""
    if isinstance(given, Tensor):
        raw = on_host(given)
        known = None if raw is None else [int(v) for v in raw.reshape(-1)]
        tensor: Any = lg.astype(given.to(like.device), lg.int64).reshape((n,)) if given.size == n else given
    else:
        known = [int(v) for v in given] if isinstance(given, Sequence) else [int(given)]
        tensor = lg.tensor(known, dtype=lg.int64, device=like.device)
    if tensor.size != n:
        raise RuntimeError(f"ctc_loss: given {tensor.size} {name}, expected {n}, one for each example")
    if known and (min(known) < 0 or (most is not None and max(known) > most)):
        raise RuntimeError(
            f"ctc_loss: given {name} from {min(known)} to {max(known)}, expected none below 0 or above {most}"
        )
    return tensor, known


def _padded(targets: Any, lengths: list[int]) -> Any:
    """Concatenated targets as rows; what is beyond a length is some other label."""
    if sum(lengths) != targets.shape[0]:
        raise RuntimeError(
            f"ctc_loss: given {targets.shape[0]} concatenated targets and target_lengths that add up to {sum(lengths)}"
        )
    most, start, places = max(lengths, default=0), 0, []
    for length in lengths:
        places.append([start + min(k, max(length - 1, 0)) if length else 0 for k in range(most)])
        start += length
    if not most:
        return targets.reshape((len(lengths), 0))
    return lg.take(targets, lg.tensor(places, dtype=lg.int64, device=targets.device))


@in_precision("full")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-probability of label sequences, summed over all alignments with the input.

    Parameters
    ----------
    log_probs
        Log-probabilities ``(times, n, classes)``, or of one sequence ``(times, classes)``.
    targets
        Labels ``(n, most)``, of which those within the target's length count; or all of them concatenated, ``(sum,)``.
    input_lengths, target_lengths
        How many times and labels each example has, as tensors or sequences of numbers.
    blank
        The class that stands for no label.
    reduction
        ``"none"``, ``"sum"``, or ``"mean"``: of the losses, each divided by its target's length.
    zero_infinity
        Whether losses that are infinite, where a target is too long for its input, count as 0.

    Notes
    -----
    The gradient is that with respect to ``log_probs`` as they are. PyTorch's takes for granted that they come from
    ``log_softmax``; after that function both are the same. An infinite loss has a gradient of 0.

    Examples
    --------
    >>> import lucidgrad as lg
    >>> x = lg.zeros((2, 1, 3), requires_grad=True)
    >>> logs = lg.log_softmax(x, axis=-1)
    >>> loss = lg.nn.functional.ctc_loss(logs, lg.tensor([[1]]), [2], [1])
    >>> loss.backward()
    >>> round(lg.exp(-loss).item(), 4), [round(v, 4) for v in x.grad[0, 0].tolist()]
    (0.3333, [0.0, -0.3333, 0.3333])
    """
    logs: Any = log_probs
    single = logs.ndim == 2
    logs = lg.expand_dims(logs, axis=1) if single else logs
    if logs.ndim != 3:
        raise RuntimeError(
            f"ctc_loss: given log_probs of shape {tuple(logs.shape)}, expected (times, n, classes) or (times, classes)"
        )
    times, n, classes = logs.shape
    if not 0 <= blank < classes:
        raise RuntimeError(f"ctc_loss: given blank={blank}, expected a class from 0 to {classes - 1}")
    labels: Any = targets.to(logs.device)
    if not lg.isdtype(labels.dtype, "integral") or labels.ndim not in (1, 2):
        raise RuntimeError(
            f"ctc_loss: given targets of dtype {labels.dtype} and shape {tuple(labels.shape)}, expected integers, "
            f"(n, most) or concatenated"
        )
    n_times, _ = _lengths("input_lengths", input_lengths, n, times, logs)
    most = labels.shape[1] if labels.ndim == 2 else None
    n_labels, known = _lengths("target_lengths", target_lengths, n, most, logs)
    if labels.ndim == 1:
        labels = _padded(labels, [int(v) for v in n_labels.tolist()] if known is None else known)
    elif labels.shape[0] != n:
        raise RuntimeError(f"ctc_loss: given targets of shape {tuple(labels.shape)}, expected {n} rows")
    states, skips = _lattice(labels, n_labels, blank, n)
    at = lg.broadcast_to(states, (times, *states.shape))
    left = n_labels[:, None] * 2 + 1 - lg.arange(states.shape[1], device=logs.device)  # states up to the last
    first = (left > 0) & (lg.arange(states.shape[1], device=logs.device) < 2)
    last = (left == 1) | (left == 2)
    loss = -path_logsumexp(lg.take_along_axis(logs, at, axis=2), skips, first, last, n_times)
    if zero_infinity:
        loss = lg.where(lg.isinf(loss), 0, loss)
    if reduction == "mean":
        return (loss / lg.astype(n_labels.clip(min=1), loss.dtype)).mean()
    return reduced("ctc_loss", loss.reshape(()) if single and reduction == "none" else loss, reduction)


def _lattice(labels: Any, n_labels: Any, blank: int, n: int) -> tuple[Any, Any]:
    """The class of each state, blanks between labels; and whether a blank before a state may be left out."""
    most = labels.shape[1]
    inside = lg.arange(most, device=labels.device) < n_labels[:, None]
    labels = lg.where(inside, lg.astype(labels, lg.int64), blank)
    blanks = lg.full((n, most, 1), blank, dtype=lg.int64, device=labels.device)
    pairs = lg.concat([blanks, labels[:, :, None]], axis=2).reshape((n, 2 * most))
    states = lg.concat([pairs, lg.full((n, 1), blank, dtype=lg.int64, device=labels.device)], axis=1)
    if not most:
        return states, states != states
    new = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    return states, lg.concat([lg.zeros((n, 2), dtype=lg.bool, device=labels.device), new], axis=1)
