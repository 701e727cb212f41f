"""Planted faults: a sign or an index of each kernel is flipped, and the comparison with its program must fail.

Run as a program it plants all of them and prints killed/total: ``python tests/kernels/mutations.py`` (on a machine
without a GPU the emulated device is used).
"""

import contextlib
import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

#: By module and kernel: what is replaced by what, wherever it occurs first.
FAULTS: dict[str, dict[str, list[tuple[str, str]]]] = {
    "attention": {
        "attention_values": [
            ("sum[i] *= less;", ""),
            ("out[i][j] *= less;", ""),
            ("high = along(high, true);", ""),
            ("first + BR : p.keys", "first : p.keys"),
            ("logarithm(total) + top[i]", "logarithm(total) - top[i]"),
            ("column > row", "column >= row"),
            ("row * p.m.row + column", "column"),
            ("first + r < count", "first + r + 1 < count"),
            ("r[0] >> 8", "r[1] >> 8"),
            ("head * p.queries + row", "row"),
            ("? s : -infinity()", "? s : 0"),
            ("total == (A)0 ? (A)1 :", ""),
        ],
        "attention_queries": [
            ("- rest[i]);", "+ rest[i]);"),
            ("rest[i] -= of_t", "rest[i] += of_t"),
            ("= t[row * p.t.row] == -infinity() ? (A)0 :", "="),
            ("out[i][j] * by.scale", "out[i][j]"),
            ("first + BR : p.keys", "first : p.keys"),
            ("gather(out, ss, ks, ty, tx)", "gather(out, ss, vs, ty, tx)"),
        ],
        "attention_keys": [
            ("by_chance - rest", "by_chance + rest"),
            ("= w * by_chance;", "= w;"),
            ("first / BC * BC : 0", "first / BC * BC + BC : 0"),
            ("gather(of_k, ss, qs", "gather(of_k, ps, qs"),
            ("AT(h)", "offset(p.h, p.own, group)"),
            ("(T)(of_k[i][j] * by.scale)", "(T)of_k[i][j]"),
            ("rest - of_t[", "rest + of_t["),
            ("value * (A)y", "(A)y"),
            ("rest = along(rest, false)", "rest *= 2"),
            ("base != -infinity()", "true"),
            ("less && first == 0", "less && first == 1"),
            ("scatter(to_q + at_to_q, ss", "scatter(to_q + at_to_q, ps"),
            ("AT(to_q)", "offset(p.to_q, p.own, group)"),
            ("ss, ks, by.scale", "ss, ks, 1"),
            ("k * SCORES + ty * RQ + i", "k * SCORES + ty + i * TY"),
            ("tx + (from + j) * TX];", "tx + j * TX + from];"),
            ("k < BR; ++k) {", "k < BR - 1; ++k) {"),
            ("first + r < count && c < width) atomicAdd", "first + r + 1 < count && c < width) atomicAdd"),
            (
                "atomicAdd(to + (first + r) * row + c, (T)(sum[i][j] * scale))",
                "to[(first + r) * row + c] = (T)(sum[i][j] * scale)",
            ),
            (": less[at_less", ": -less[at_less"),
            ("AT(less)", "offset(p.less, p.own, group)"),
            ("bases[r] = base;", ""),
        ],
        "attention_mask": [
            ("column) - rest)", "column) + rest)"),
            ("one_row ? p.queries : row0 + BR", "row0 + BR"),
            ("one_column ? p.keys : column0 + BC", "column0 + BC"),
            ("start >= first + BR", "start >= first"),
            ("(one_row ? BR : r + 1)", "r + 1"),
            ("tile % across", "tile % down"),
        ],
    },
    "attention_products": {
        "attention_weights": [
            ("high == v ? 0 : v - high", "0"),
            ("~0x1fff", "~0x1ff"),
            ("top = along(top, true);", ""),
            ("total = along(total, false);", ""),
            ("top == -infinity() ? (A)0 : top", "top"),
            ("total == (A)0 ? (A)1 : total", "total"),
            ("logarithm(total) + base", "logarithm(total) - base"),
            ("offset(p.m, p.own, (unsigned int)head)", "0"),
            ("at >= rows", "at + 1 >= rows"),
            ("rest_of(at, p.queries)", "at"),
            ("c < p.keys; c += TX) total", "c + 1 < p.keys; c += TX) total"),
        ],
        "attention_slopes": [
            ("high == v ? 0 : v - high", "0"),
            ("- rest) * by.scale", "+ rest) * by.scale"),
            ("- rest) * by.scale", "- rest)"),
            ("rest = along(rest, false);", ""),
            ("if (base == -infinity()) base = 0;", ""),
            ("offset(p.t, p.own, (unsigned int)head)", "0"),
            ("row * p.t.row", "row"),
            ("offset(p.m, p.own, (unsigned int)head)", "0"),
            ("parts(w, s[place + c], low_s[place + c])", "parts(w, s[place + c], low_g[place + c])"),
            ("at >= rows", "at + 1 >= rows"),
        ],
    },
    "rows": {
        "softmax": [
            ("- top) / total", "+ top) / total"),
            ("total += power", "total -= power"),
            ("- top - total", "- top + total"),
            ("top = MAX(top);", ""),
            ("total = SUM(total);", ""),
        ],
        "softmax_pull": [
            ("- inner_product) *", "+ inner_product) *"),
            ("* (A)s[at];", "* (A)h[at];"),
            ("= SUM(inner_product)", "= MAX(inner_product)"),
        ],
        "log_softmax_pull": [("- power", "+ power"), ("(A)s[at]) * total", "(A)h[at]) * total")],
        "logsumexp_pull": [("- shift", "+ shift"), ("(A)h[row]", "(A)h[0]"), ("(A)s[row]", "(A)s[0]")],
        "variance_pull": [("- mean));", "+ mean));"), ("scale *= 2;", ""), ("(A)h[row]", "(A)h[0]")],
        "extreme_pull": [
            ("ties += (A)x[at] == extreme", "ties += (A)x[at] != extreme"),
            ("share /= ties", "share *= ties"),
            ("(A)h[row]", "(A)h[0]"),
            ("ties = SUM(ties);", ""),
        ],
        "cross_entropy": [
            ("top - (A)x", "top + (A)x"),
            ("target * inner", "target"),
            ("used && target >= 0", "used && target > 0"),
            ("used ? loss", "!used ? loss"),
        ],
        "cross_entropy_pull": [
            ("/ total - (k", "/ total + (k"),
            ("k == target", "k == target + 1"),
            ("(A)h[row * every]", "(A)h[0]"),
            ("(A)h[row * every]", "(A)h[row]"),
            ("target != ignored", "true"),
        ],
    },
    "norms": {
        "standardise": [
            ("- mean) * rate", "+ mean) * rate"),
            ("+ (A)eps", "- (A)eps / 2"),
            ("(A)w[k]", "(A)w[0]"),
            ("v += (A)b[k]", "v -= (A)b[k]"),
            ("if (centred)", "if (!centred)"),
        ],
        "standardise_pull": [
            ("- d * inner_product", "+ d * inner_product"),
            ("- sum_h", "+ sum_h"),
            ("rate * rate", "rate"),
            ("(w ? (A)w[k] : (A)1);\n        y[at]", "(A)1;\n        y[at]"),
            ("means[row] = mean", "means[row] = -mean"),
        ],
        "layer_pull": [
            ("- d * inner_product", "+ d * inner_product"),
            ("own[k] += (A)h[at] * d * rate", "own[k] += (A)h[at] * d"),
            ("own[n + k] +=", "own[n + k] ="),
            ("g < groups; ++g) total", "g < 1; ++g) total"),
            ("step * gridDim.x + blockIdx.x", "blockIdx.x"),
            ("- sum_h", "+ sum_h"),
            ("== count - 1;", "== 0;"),
            ("PARTS(parts, from, members)", "PARTS(parts, 0, members)"),
            ("PARTS(team_parts, 0, teams)", "PARTS(team_parts, 0, 1)"),
            ("tickets + 1 + own_team, members", "tickets + 1 + own_team, team"),
            ("to_b[k - n]", "to_w[k - n]"),
        ],
        "layer_columns": [
            ("- means[row]", "+ means[row]"),
            ("rates[row]", "rates[0]"),
            ("row += 8", "row += 9"),
            ("blockIdx.x * 32", "blockIdx.x * 31"),
            ("== 0 ? to_w : to_b", "== 1 ? to_w : to_b"),
            ("first + chunk : rows", "first + chunk - 1 : rows"),
            ("== count - 1;", "== 0;"),
            ("PARTS(parts, 0, (int)gridDim.y)", "PARTS(parts, 0, 1)"),
        ],
        "batch_moments": [
            ("to[1] = mean", "to[1] = 0"),
            ("to[2] = total", "to[2] = 0"),
            ("to[4] = inner_product", "to[4] = sum_h"),
            ("channel * gridDim.y + blockIdx.y", "channel + blockIdx.y"),
            ("first + chunk : count", "first + chunk - 1 : count"),
        ],
        "batch_norm": [
            ("* scale + shift", "* scale - shift"),
            ("from[2] + d * d * n * part", "from[2]"),
            ("mean += d * part", "mean += d"),
            ("- mean;", "+ mean;"),
            ("(A)w[channel]", "(A)w[0]"),
            ("means[channel]", "means[0]"),
        ],
        "batch_norm_pull": [
            ("- scale * sum_h", "+ scale * sum_h"),
            ("(d - d * part) * from[3]", "d * from[3]"),
            ("- d * part * sum_h", "+ d * part * sum_h"),
            ("- scale * rate", "+ scale * rate"),
            ("(A)2 * (A)v", "(A)v"),
            ("(A)m[channel]", "(A)m[0]"),
            ("to_w[channel]", "to_w[0]"),
        ],
    },
    "columns": {
        "folded_columns": [
            ("rest_of(rest, n)", "0"),
            ("channel) * PLANE", "channel + 1) * PLANE"),
            ("part_of(rest, n)", "rest"),
        ],
    },
    "convolution": {
        "conv": [
            ("corner[a] + k[a] * p.dilation[a]", "corner[a] + k[a]"),
            ("- p.padding[a];", "+ p.padding[a];"),
            ("w += (I)group * m.outputs * depth", "w += (I)group * depth"),
            ("(row0 + row) * depth", "row * depth"),
            ("mine < columns ? split", "mine < 0 ? split"),
            ("from + channel * size", "from + channel"),
            ("+ row) * places", "+ row + 1) * places"),
            ("__syncthreads(); \\\n    for (int k", "for (int k"),
            ("start < depth", "start < depth - 1"),
        ],
        "conv_input": [
            ("k * p.dilation[a]) % p.stride[a] != left[a]", "k * p.dilation[a]) % p.stride[a] != 0"),
            ("(left[a] - padding + p.stride[a])", "(left[a] + padding)"),
            ("window[a] - j[a]", "window[a] + j[a]"),
            ("c.element[a] + j[a] * p.step[a]", "c.element[a] + j[a]"),
            ("(output * m.channels + row0 + row)", "(output * m.outputs + row0 + row)"),
            ("blockIdx.z / m.groups", "blockIdx.z % m.groups"),
            ("c.first[a] + there[a] * p.stride[a]", "c.first[a] + there[a]"),
        ],
        "conv_weight": [
            ("part * share", "part * share + 1"),
            ("elements[row][3];", "elements[0][3];"),
            ("(row0 + row) * places + here", "(row0 + row) * places"),
            ("begin + share < depth ? begin + share : depth", "depth"),
            ("row * columns + column", "column * m.outputs + row"),
        ],
        "conv_parts": [("k * count + e", "e"), ("total +=", "total -=")],
        "conv_few": [
            ("w += (I)output", "w += (I)group"),
            ("x + c * size", "x"),
            ("output / m.outputs", "output % m.groups"),
            ("flat(k, p.window)];", "flat(k, p.window) / 2];"),
        ],
        "conv_input_few": [
            ("channel % m.channels", "channel"),
            ("o * places + here", "here"),
            ("k[2] += p.step[2]", "k[2] += p.stride[2]"),
            ("w[o * m.channels", "w[o"),
        ],
        "conv_weight_few": [
            ("at % places", "0"),
            ("rest % m.channels", "0"),
            ("sums[threadIdx.x + step]", "sums[threadIdx.x]"),
            ("at += 256", "at += 255"),
        ],
    },
    "lists": {
        "norm_parts": [
            ("v * v", "v"),
            ("order == 1 ? v", "order == 1 ? -v"),
            ("total = v > total", "total = v < total"),
            ("first[middle] <=", "first[middle] <"),
            ("parts[blockIdx.x] = part", "parts[0] = part"),
            ("i < end", "i < end - 1"),
            ("threadIdx.x + m]", "threadIdx.x]"),
        ],
        "norm_whole": [("sqrt(total)", "total"), ("1 / order", "order"), ("parts[i], greatest", "parts[0], greatest")],
        "clip_all": [("/ (*norm", "* (*norm"), ("factor > 1", "factor < 1"), ("i += 256", "i += 512")],
        "unscale_all": [
            ("!is_finite(v)", "is_finite(v)"),
            ("1 / (double)", "(double)"),
            ("(v * rate)", "(v)"),
            ("__syncthreads_or(odd)", "odd"),
        ],
        "move_all": [("vector + before", "vector"), ("k < mine", "k <= mine"), ("if (joins)", "if (!joins)")],
    },
    "recurrence": {
        "lstm_step": [
            ("out * hyperbolic(now)", "out * now"),
            ("keep * (A)c", "in * (A)c"),
            ("+ in * made", "- in * made"),
            ("or_zero(b, k * n + j)", "or_zero(b, j)"),
            ("row * width", "row * n"),
            ("GATE(x, k, 4) +", "GATE(x, k, 4) -"),
            ("GATE(s, 3, 5) = (T)out", "GATE(s, 3, 5) = (T)in"),
        ],
        "lstm_step_pull": [
            ("(1 - t * t)", "(1 - t)"),
            ("to_h * t +", "to_h * out +"),
            ("(later ? (A)gc[e] : (A)0)", "(A)0"),
            ("or_zero(later, e)", "0"),
            ("row * width", "row * n"),
            ("gc[e] = (T)(to_c * keep)", "gc[e] = (T)(to_c * in)"),
            ("INSIDE(4, 5) +", "INSIDE(3, 5) +"),
            ("or_zero(gy, e)", "0"),
            ("INSIDE(2, 5)", "(A)GATE(gs, 2, 5)"),
            ("(1 - made * made)", "made * (1 - made)"),
        ],
        "gru_step": [
            ("r * hn", "z * hn"),
            ("(A)before[e] - made", "(A)before[e] + made"),
            ("or_zero(b, 2 * n + j)", "or_zero(b, n + j)"),
            ("GATE(s, 3, 4) = (T)hn", "GATE(s, 3, 4) = (T)made"),
        ],
        "gru_step_pull": [
            ("(A)later[e] + (A)gh[e]", "(A)later[e]"),
            ("to_h * (1 - z)", "to_h * z"),
            ("pn * r +", "pn * z +"),
            ("(A)before[e] - made", "made - (A)before[e]"),
            ("gh[e] = (T)(to_h * z)", "gh[e] = (T)to_h"),
            ("GATE(to_x, 2, 3) = (T)pn", "GATE(to_x, 2, 3) = (T)(pn * r)"),
        ],
        "rnn_step": [("+ (A)h[e]", "- (A)h[e]"), ("v < 0", "v > 0"), ("or_zero(b, j)", "or_zero(b, 0)")],
        "rnn_step_pull": [
            ("or_zero(later, e)", "0"),
            ("(1 - now * now)", "(1 - now)"),
            ("now > 0", "now < 0"),
        ],
    },
    "reductions": {
        "reduce": [
            ("first + chunk : n", "first + chunk - 1 : n"),
            ("row * count + part", "row * count"),
            ("first + lane; k < end; k += deep) take", "first + lane; k < end; k += deep + 1) take"),
            ("const A d = ELEMENT(place + k * inner) -", "const A d = ELEMENT(place + k * inner) +"),
            ("k < deep / 32; ++k) join", "k < deep / 32 - 1; ++k) join"),
            ("first + k * across", "first + k"),
            ("s.v * (s.top == top ? (A)1 : power(s.top - top)) + more", "s.v + more"),
            ("(tied && (place) < s.at)", "tied"),
            ("k = lane; k < count; k += deep", "k = lane; k < count - 1; k += deep"),
            ("parts[row * count + k]", "parts[k]"),
            ("== count - 1;", "== 0;"),
            ("in_run += rest;", ""),
            ("in_run -= run;\n                    at += jump;", "in_run -= run;"),
            ("row * run + k / run", "row + k / run"),
        ],
    },
    "windows": {
        "unfold_windows": [
            ("- p.padding[a] + k", "+ p.padding[a] + k"),
            ("at[a] >= 0 && ", "at[a] > 0 && "),
            ("plane * PLANE(p.size)", "plane"),
        ],
        "fold_windows": [
            ("+ p.padding[a] - k", "- p.padding[a] - k"),
            ("% p.stride[a] : 0;", "% p.window[a] : 0;"),
            ("% p.stride[a] != 0) ++first[a]", "% p.stride[a] > 1) ++first[a]"),
            ("k[2] += p.step[2]", "k[2] += p.stride[2]"),
            ("total += (A)h", "total -= (A)h"),
            ("ravel(k, p.window)", "ravel(k, p.out)"),
        ],
        "max_pool": [("v > top", "v < top"), ("v > top", "v >= top"), ("best = here", "best = here + 1")],
        "pool_put": [("i[from] == own", "i[from] == own + 1"), ("total += (A)h", "total -= (A)h")],
        "avg_pool": [
            ("end > p.size[a] + p.padding[a]", "end > p.size[a] + 2 * p.padding[a]"),
            ("total += (A)x", "total -= (A)x"),
            ("if (!include)", "if (include)"),
            ("divisor != 0", "divisor == 0"),
        ],
        "avg_pool_put": [
            ("total += (A)h", "total -= (A)h"),
            ("ravel(place, p.out)] /", "ravel(at, p.out) % PLANE(p.out)] /"),
            ("(A)(end - start)", "(A)(end - start + 1)"),
        ],
    },
    "puts": {
        "put_atomic": [
            ("own ? e", "!own ? e"),
            ("(A)g[e]", "(A)g[0]"),
            ("* size + at", "* size - at + at * 2 + (at == 0)"),
        ],
        "put_sorted": [
            ("first > 0 &&", "first > 1 &&"),
            ("total += (A)g", "total -= (A)g"),
            ("* inner + column] = (T)", "* inner] = (T)"),
        ],
        "put_lines": [
            ("+= (A)g", "-= (A)g"),
            ("k * inner], size", "k], size"),
            ("if (at >= 0)", "if (at > 0)"),
        ],
    },
}

#: Primitives that a kernel serves, where they have other names.
SERVES: dict[str, list[str]] = {
    "reduce": ["sum", "mean_squared_error", "argmax", "var", "logsumexp"],
    **{key: ["vector_norm"] for key in ("squares", "sizes", "largest", "count", "powers")},
    "var": ["var", "std"],
    "attention_values": ["attention"],
    **{key: ["attention_pull"] for key in ("attention_queries", "attention_keys", "attention_mask")},
    "softmax": ["softmax", "log_softmax"],
    "variance_pull": ["var_pull", "std_pull"],
    "cross_entropy": ["cross_entropy_rows"],
    "batch_moments": ["batch_norm", "batch_norm_pull"],
    "standardise": ["standardise", "layer_norm"],
    "standardise_pull": ["standardise_pull", "layer_norm_pull"],
    **{f"{kind}_step{way}": [f"{kind}_sequence{way}"] for kind in ("lstm", "gru", "rnn") for way in ("", "_pull")},
    **{name: ["convolution"] for name in ("conv", "conv_few")},
    **{name: ["convolution_input"] for name in ("conv_input", "conv_input_few")},
    **{name: ["convolution_weight"] for name in ("conv_weight", "conv_parts", "conv_weight_few")},
    **{key: ["layer_norm_pull"] for key in ("layer_pull", "layer_columns")},
    "put_atomic": ["take_put", "put_along_axis_add"],
    "put_sorted": ["take_put"],
    "put_lines": ["put_along_axis_add"],
}


#: Whether sums are to be in a fixed order, where a kernel is launched then only or in both ways.
FIXED: dict[str, tuple[bool, ...]] = {
    **dict.fromkeys(("put_sorted", "put_lines", "attention_queries"), (True,)),
    "attention_keys": (False, True),
}

#: Where the part of a source begins that belongs to a family alone.
OWN = {
    "convolution": "#define SQUARE 4",
    "lists": "__device__ inline A infinity",
    "norms": "__device__ inline bool is_last",
    "windows": "struct Plan",
    "attention": "struct Place",
    "attention_products": "__device__ inline void parts",
    "reductions": "__device__ inline bool is_last",
}

#: Faults in the states of reductions, by function: what is replaced by what in which part.
STATE_FAULTS: dict[str, list[tuple[int, str, str]]] = {
    "mean": [(4, "/ (A)number", "* (A)number")],
    "prod": [(3, "*=", "+=")],
    "max": [(1, "-infinity()", "0"), (3, "MOST", "LEAST")],
    "min": [(1, "infinity()", "0"), (2, "LEAST", "MOST")],
    "squares": [(4, "root(s.v)", "s.v"), (2, "v * v", "v")],
    "sizes": [(2, "SIZE(v)", "v")],
    "largest": [(2, "SIZE(v)", "v")],
    "count": [(2, "(A)0;", "(A)1;")],
    "powers": [(4, "(A)1 / ", ""), (2, "SIZE(v)", "v")],
    "argmax": [(2, ">", "<"), (3, "if (b.at >= 0)", "")],
    "argmin": [(2, "<", ">"), (3, "b.at, <", "b.at, >")],
    "any": [(2, "!=", "=="), (3, "!=", "==")],
    "all": [(1, "1", "0"), (3, "==", "!=")],
    "logsumexp": [(4, "+ s.top", "- s.top"), (3, "b.v", "(A)1")],
    "var": [
        (2, "d / s.n", "d"),
        (3, "s.v += b.v +", "s.v += b.v -"),
        (3, "s.mean += d * part;", ""),
        (4, "-number - 1", "-number"),
    ],
}


def all_faults() -> list[tuple[str, str, str, str]]:
    """Module, kernel, and what is replaced by what."""
    return [
        (module, kernel, old, new)
        for module, kernels in FAULTS.items()
        for kernel, pairs in kernels.items()
        for old, new in pairs
        if old != new
    ]


@contextlib.contextmanager
def planted(module: str, kernel: str, old: str, new: str) -> Iterator[None]:
    """A kernel's sources with a fault, for the time of a block."""
    from lucidgrad.backends.cuda import faults, tickets

    sources = importlib.import_module(f"lucidgrad.backends.cuda.kernels.{module}").SOURCES
    before = {key: text for key, text in sources.items() if key.rpartition("_")[0] == kernel}
    assert before, f"there is no kernel {kernel}"
    for key, text in before.items():
        body = text.rindex(OWN.get(module, 'extern "C"'))
        assert old in text[body:], f"{kernel}: its source has no {old!r}"
        sources[key] = text[:body] + text[body:].replace(old, new, 1)
    sources.forget()
    try:
        yield
    finally:
        sources.update(before)
        sources.forget()
        tickets.forget()
        faults.take()  # a fault may have met any position


def faulty_launches() -> tuple[type[Exception], ...]:
    """What a kernel raises that reads where nothing is."""
    import cupy

    return cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError


@contextlib.contextmanager
def planted_state(name: str, part: int, old: str, new: str) -> Iterator[None]:
    """A reduction's state with a fault, for the time of a block."""
    reductions = importlib.import_module("lucidgrad.backends.cuda.kernels.reductions")
    right = reductions.STATES[name]
    assert old in right[part], f"{name}: its state has no {old!r}"
    changed = [*right[:part], right[part].replace(old, new, 1), *right[part + 1 :]]
    reductions.STATES[name] = tuple(changed)
    reductions.constants.cache_clear()
    try:
        yield
    finally:
        reductions.STATES[name] = right
        reductions.constants.cache_clear()


def survives(kernel: str) -> bool:
    """Whether a comparison with the program, in single precision and without large cases, finds nothing."""
    from lucidgrad.determinism import use_deterministic_algorithms

    from . import lists, products
    from .cases import CASES, conv, convolutions, narrow
    from .comparison import compare

    norms: Any = importlib.import_module("lucidgrad.backends.cuda.kernels.norms")
    room = norms.ROOM
    norms.ROOM = 0 if kernel in ("standardise_pull", "layer_columns") else room  # as for longer rows
    try:
        if kernel in FAULTS["lists"]:
            lists.check(kernel)
            return True
        if kernel in FAULTS["attention_products"]:
            pull = kernel == "attention_slopes"
            with products.always():
                for case, layout in itertools.product(narrow(pull), ("plain", "with gaps")):
                    compare("attention_pull" if pull else "attention", case, "float32", layout)
            return True
        if kernel in FAULTS["columns"]:
            compare(
                "convolution_weight",
                convolutions("convolution_weight", [conv(20, 8, (6,), 64, (5,), padding=(2,))])[0],
                "float16",
            )
            return True
        for fixed in FIXED.get(kernel, (False,)):
            use_deterministic_algorithms(fixed)
            for name in SERVES.get(kernel, [kernel]):
                for case in CASES[name]:
                    if not case.large:
                        compare(name, case, "float32")
    except (AssertionError, *faulty_launches()):
        return False
    finally:
        use_deterministic_algorithms(False)
        norms.ROOM = room
    return True


def main(report: Callable[[str], Any] = print) -> int:
    from . import single

    killed, faults = 0, all_faults()
    wrong = [kernel for kernel in {fault[1]: 0 for fault in faults} if not survives(kernel)]
    if wrong:  # else every fault would seem to be found
        report(f"differ from their programs without any fault: {', '.join(wrong)}")
        return 1
    for module, kernel, old, new in faults:
        with planted(module, kernel, old, new):
            alive = survives(kernel)
        killed += not alive
        if alive:
            report(f"survives: {kernel}: {old!r} -> {new!r}")
    total, kernels = len(faults), len({f[1] for f in faults})
    for name, found in STATE_FAULTS.items():
        for fault in found:
            with planted_state(name, *fault):
                alive = survives(name)
            killed, total = killed + (not alive), total + 1
            if alive:
                report(f"survives: {name}: {fault}")
    for name, (_, _, pairs) in single.FAULTS.items():
        right = single.survives(name)
        if not right:
            report(f"differs from NumPy without any fault: {name}")
        for old, new in pairs:
            with single.planted(name, old, new):
                alive = single.survives(name)
            killed += right and not alive
            if alive:
                report(f"survives: {name}: {old!r} -> {new!r}")
        total, kernels = total + len(pairs), kernels + 1
    report(f"{killed}/{total} faults in {kernels} kernels found")
    return killed != total


if __name__ == "__main__":
    tests = Path(__file__).resolve().parents[1]
    sys.path[:0] = [str(tests), str(tests.parent)]
    from lucidgrad.backends import cudasim

    if not cudasim.usable_gpus() and not cudasim.is_installed():
        cudasim.install(devices=2)
    import lucidgrad

    lucidgrad.zeros(1, device="cuda")  # loads the back end
    sys.exit(importlib.import_module("kernels.mutations").main())
