"""Whole small programs as they are written for PyTorch, a function each, which gives numbers. Both libraries run it."""

import copy
import io
import math

import numpy as np

import lucidgrad.torch as torch
import lucidgrad.torch.nn as nn
import lucidgrad.torch.nn.functional as F
import lucidgrad.torch.optim as optim
from lucidgrad.torch.func import functional_call, grad, hessian, jacrev, jvp, vjp, vmap
from lucidgrad.torch.nn.utils.rnn import pad_sequence
from lucidgrad.torch.utils.checkpoint import checkpoint, checkpoint_sequential
from lucidgrad.torch.utils.data import DataLoader, Dataset, Subset


def numbers(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape)).to(torch.get_default_dtype())


def filled(module, seed=1):
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.from_numpy(0.3 * rng.standard_normal(tuple(p.shape))))
    return module


# -- a language model with tied weights, warmup, accumulation and averages ------------------------------
class Tied(nn.Module):
    def __init__(self, vocabulary=11, width=6):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width, padding_idx=0)
        self.position = nn.Parameter(torch.zeros(1, 8, width))
        self.mix = nn.Linear(width, width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("mask", torch.tril(torch.ones(8, 8, dtype=torch.bool)))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long), persistent=False)

    def forward(self, tokens):
        T = tokens.size(1)
        h = self.embed(tokens) * math.sqrt(self.embed.embedding_dim) + self.position[:, :T]
        score = (h @ h.transpose(-2, -1)) / h.size(-1) ** 0.5
        score = score.masked_fill(~self.mask[:T, :T], float("-inf"))
        h = h + self.mix(F.softmax(score, dim=-1) @ h)
        self.steps += 1
        return self.head(h)


def tied_language_model():
    model = filled(Tied())
    assert model.head.weight is model.embed.weight
    assert sum(p.numel() for p in model.parameters()) == 11 * 6 + 8 * 6 + 6 * 6 + 6
    average = copy.deepcopy(model).requires_grad_(False)
    optimiser = optim.AdamW(
        [
            {"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": 0.1},
            {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
        ],
        lr=1e-2, betas=(0.9, 0.95),
    )  # fmt: skip
    schedule = optim.lr_scheduler.LambdaLR(optimiser, lambda k: min(1.0, (k + 1) / 3) * 0.5 * (1 + math.cos(k / 4)))
    rng, told = np.random.default_rng(3), []
    for _ in range(4):
        optimiser.zero_grad(set_to_none=True)
        for _ in range(2):
            tokens = torch.from_numpy(rng.integers(0, 11, (3, 8)))
            logits = model(tokens[:, :-1])
            loss = F.cross_entropy(
                logits.reshape(-1, logits.size(-1)), tokens[:, 1:].reshape(-1), ignore_index=0, label_smoothing=0.1
            )
            (loss / 2).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
        optimiser.step()
        schedule.step()
        with torch.no_grad():
            for ours, theirs in zip(average.parameters(), model.parameters()):
                ours.lerp_(theirs, 0.1)
        told += [loss.item(), float(norm), schedule.get_last_lr()[0]]
    missing = model.load_state_dict(average.state_dict(), strict=True)
    assert not missing.missing_keys and "steps" not in model.state_dict()
    return [*told, model.steps.item(), model.embed.weight.norm().item()]


# -- a custom Function, checked, inside a module with buffers -----------------------------------------
class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, levels):
        ctx.save_for_backward(x)
        ctx.levels = levels
        return torch.round(x * levels) / levels

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        inside = (x.abs() <= 1).to(gradient.dtype)
        return gradient * inside, None


class Cubed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x, scale)
        return scale * x**3

    @staticmethod
    def backward(ctx, g):
        x, scale = ctx.saved_tensors
        of_x = 3 * scale * x**2 * g if ctx.needs_input_grad[0] else None
        return of_x, (g * x**3).sum() if ctx.needs_input_grad[1] else None


def custom_functions():
    x = numbers(3, 4).requires_grad_()
    scale = torch.tensor(0.7, requires_grad=True)
    assert torch.autograd.gradcheck(Cubed.apply, (x, scale))
    assert torch.autograd.gradgradcheck(Cubed.apply, (x, scale))
    y = StraightThrough.apply(x, 4).sum() + Cubed.apply(x, scale).mean()
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    first.pow(2).sum().backward()
    return [y.item(), *x.grad.flatten().tolist(), scale.grad.item()]


# -- data with a collate_fn, samplers and subsets -----------------------------------------------------
class Sentences(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return {"words": torch.arange(1, 2 + i % 4), "label": i % 3, "weight": float(i)}


def gathered(batch):
    words = pad_sequence([item["words"] for item in batch], batch_first=True, padding_value=-1)
    lengths = torch.tensor([len(item["words"]) for item in batch])
    return words, lengths, torch.as_tensor([item["label"] for item in batch])


def loading():
    told = []
    for words, lengths, labels in DataLoader(Sentences(10), batch_size=4, collate_fn=gathered, drop_last=False):
        mask = torch.arange(words.size(1))[None, :] < lengths[:, None]
        told += [*words.shape, words[mask].sum().item(), labels.float().mean().item()]
        assert torch.equal(mask, words != -1)
    part = Subset(Sentences(10), [1, 5, 7])
    items = [{"a": i, "b": torch.ones(2) * i} for i in range(4)]
    batch = next(iter(DataLoader(items, batch_size=4)))
    told += [len(part), part[1]["weight"], *batch["a"].tolist(), *batch["b"].flatten().tolist()]
    return told


# -- embedding bags, a bidirectional GRU and masked pooling -------------------------------------------
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(9, 4, mode="mean")
        self.words = nn.Embedding(9, 5)
        self.rnn = nn.GRU(5, 3, num_layers=2, batch_first=True, bidirectional=True)
        self.out = nn.Sequential(nn.Linear(10, 6), nn.GELU(), nn.Dropout(0.0), nn.Linear(6, 3))

    def forward(self, tokens, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            self.words(tokens), lengths.cpu(), batch_first=True, enforce_sorted=False
        )
        states, last = self.rnn(packed)
        states, _ = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=tokens.size(1))
        mask = (torch.arange(tokens.size(1)) < lengths.unsqueeze(1)).unsqueeze(-1)
        pooled = states.masked_fill(~mask, -torch.inf).amax(dim=1)
        offsets = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)[:-1]])
        bags = self.bag(tokens[mask.squeeze(-1)], offsets)
        return self.out(torch.cat([pooled, bags], dim=-1)), last


def reader():
    model = filled(Reader())
    tokens = torch.from_numpy(np.random.default_rng(5).integers(0, 9, (4, 6)))
    lengths = torch.tensor([3, 6, 1, 4])
    logits, last = model(tokens, lengths)
    loss = F.cross_entropy(logits, torch.tensor([0, 2, 1, 2]), weight=torch.tensor([1.0, 2.0, 0.5]))
    loss = loss + 0.01 * last.pow(2).sum()
    loss.backward()
    return [loss.item(), *(p.grad.norm().item() for p in model.parameters())]


# -- gradients per sample, and derivatives of functions -------------------------------------------------
def per_sample():
    model = filled(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)))
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    x, y = numbers(5, 3), torch.tensor([0, 1, 1, 0, 1])

    def loss(parameters, x, y):
        return F.cross_entropy(functional_call(model, parameters, (x.unsqueeze(0),)), y.unsqueeze(0))

    each = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in each.values()]).norm(dim=0)
    clipped = {n: (g * (1.0 / norms.clamp(min=0.1)).reshape(-1, *[1] * (g.ndim - 1))).mean(0) for n, g in each.items()}

    def energy(v):
        return (model(v) ** 2).sum() + torch.logsumexp(v, dim=-1)

    H = hessian(energy)(x[0])
    J = jacrev(lambda v: torch.sin(v) * v.sum())(x[1])
    value, pull = vjp(energy, x[2])
    _, push = jvp(energy, (x[2],), (torch.ones(3),))
    return [*norms.tolist(), *(g.sum().item() for g in clipped.values()), *H.flatten().tolist(),
            *J.flatten().tolist(), value.item(), *pull(torch.tensor(1.0))[0].tolist(), push.item()]  # fmt: skip


# -- checkpoints and state dicts -------------------------------------------------------------------------
def resuming():
    def made():
        return filled(nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8), nn.Linear(8, 1)))

    def trained(model, optimiser, schedule, steps, start=0):
        told = []
        for k in range(start, start + steps):
            x = numbers(6, 3, seed=k)
            y = checkpoint(model[:3], x, use_reentrant=False)
            y = checkpoint_sequential(list(model[3:]), 2, y, use_reentrant=False)
            loss = F.smooth_l1_loss(y.squeeze(-1), x.sum(-1), beta=0.5)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            told.append(loss.item())
        return told

    model = made()
    optimiser = optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    schedule = optim.lr_scheduler.SequentialLR(
        optimiser,
        [optim.lr_scheduler.LinearLR(optimiser, 0.1, total_iters=2), optim.lr_scheduler.ExponentialLR(optimiser, 0.8)],
        milestones=[2],
    )
    told = trained(model, optimiser, schedule, 3)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": 3}, file)
    file.seek(0)
    saved = torch.load(file, map_location="cpu", weights_only=True)
    again = made()
    again.load_state_dict(saved["model"])
    second = optim.SGD(again.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    second.load_state_dict(saved["optimiser"])
    constant = optim.lr_scheduler.ConstantLR(second, factor=1.0)
    other = trained(again, second, constant, 2, saved["step"])
    return [*told, *other, int(again[1].num_batches_tracked), again[1].running_var.sum().item()]


# -- Fourier losses, complex parameters ------------------------------------------------------------------
def spectral():
    x = numbers(2, 16).requires_grad_()
    kernel = nn.Parameter(torch.view_as_complex(numbers(9, 2, seed=4)))
    spectrum = torch.fft.rfft(x, norm="ortho") * kernel
    y = torch.fft.irfft(spectrum, n=16, norm="ortho")
    loss = spectrum.abs().clamp(min=1e-3).log().mean() + y.pow(2).mean() + torch.angle(spectrum[:, 1:-1]).sin().sum()
    window = torch.hann_window(8, periodic=True)
    S = torch.stft(y, n_fft=8, hop_length=4, window=window, return_complex=True, center=True)
    loss = loss + (S.real**2 + S.imag**2).sqrt().sum() * 0.01
    loss.backward()
    return [loss.item(), *x.grad.norm(dim=1).tolist(), *torch.view_as_real(kernel.grad).flatten().tolist()]


# -- sampling, top-k and nucleus; deterministic where nothing is left to chance ------------------------------
def sampling():
    logits = numbers(3, 7)
    kept = torch.topk(logits, k=1, dim=-1)
    only = torch.full_like(logits, float("-inf")).scatter(1, kept.indices, kept.values)
    picks = torch.multinomial(F.softmax(only, dim=-1), num_samples=1)
    ordered, places = torch.sort(F.softmax(logits, dim=-1), descending=True)
    drop = ordered.cumsum(-1) - ordered > 0.5
    nucleus = torch.zeros_like(logits).scatter_(1, places, ordered.masked_fill(drop, 0.0))
    nucleus = nucleus / nucleus.sum(dim=-1, keepdim=True)
    entropy = -(nucleus * nucleus.clamp_min(1e-12).log()).sum(-1)
    one, two = (torch.empty(3).uniform_(generator=torch.Generator().manual_seed(1)) for _ in range(2))
    drawn = torch.normal(0.0, 1.0, (4,), generator=torch.Generator().manual_seed(2))
    return [
        *picks.flatten().tolist(),
        *nucleus.flatten().tolist(),
        *entropy.tolist(),
        torch.equal(one, two),
        *drawn.shape,
    ]


# -- NaNs, where and writing under masks --------------------------------------------------------------------
def repairing():
    x = numbers(4, 5).requires_grad_()
    safe = torch.where(x > 0, x, torch.ones_like(x))
    y = torch.where(x > 0, torch.sqrt(safe), torch.zeros_like(x))
    holes = y.detach().clone()
    holes[0, 1], holes[2] = float("nan"), float("inf")
    mean = torch.nanmean(torch.nan_to_num(holes, posinf=float("nan")), dim=1)
    z = y.clone()
    z[z > 1] *= 0.5
    z[:, 0] = y[:, 1].detach() + x[:, 2]
    z[[0, 3], [1, 2]] += 1.0
    z.masked_fill_(torch.isnan(holes), 0.25)
    z.index_add_(0, torch.tensor([0, 0, 3]), torch.ones(3, 5) * x.sum())
    loss = z.pow(2).sum() + F.huber_loss(z, torch.zeros_like(z), delta=0.3)
    loss.backward()
    return [loss.item(), *x.grad.flatten().tolist(), *torch.nan_to_num(mean).tolist(), int(torch.isfinite(holes).sum())]


# -- attention by einsum against the fused one ----------------------------------------------------------------
class Attention(nn.Module):
    def __init__(self, width=8, heads=2):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("slopes", 2.0 ** -torch.arange(1, heads + 1, dtype=torch.get_default_dtype()))

    def forward(self, x, padding):
        B, T, C = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (a.view(B, T, self.heads, C // self.heads).permute(0, 2, 1, 3).contiguous() for a in (q, k, v))
        distance = torch.arange(T)[None, :] - torch.arange(T)[:, None]
        bias = self.slopes[:, None, None] * distance.abs().neg()
        keep = (distance <= 0) & ~padding[:, None, None, :]
        score = torch.einsum("bhtd,bhsd->bhts", q, k) / math.sqrt(q.size(-1)) + bias
        weight = score.masked_fill(~keep, torch.finfo(score.dtype).min).softmax(-1)
        plain = torch.einsum("bhts,bhsd->bthd", weight, v).reshape(B, T, C)
        mask = bias.expand(B, -1, -1, -1).masked_fill(~keep, float("-inf"))
        fused = F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2)
        return self.out(plain), self.out(fused)


def attending():
    model, x = filled(Attention()), numbers(2, 5, 8)
    padding = torch.tensor([[False] * 5, [False, False, False, True, True]])
    plain, fused = model(x, padding)
    assert torch.allclose(plain, fused)
    F.l1_loss(plain[~padding], x[~padding]).backward()
    return [plain.sum().item(), *(p.grad.norm().item() for p in model.parameters())]


# -- hooks, freezing, gradients by hand -----------------------------------------------------------------------
def hooked():
    model = filled(nn.ModuleDict({"body": nn.Conv1d(2, 3, 3, padding="same"), "head": nn.Conv1d(3, 1, 1)}))
    seen, told = [], []
    first = model["body"].register_forward_hook(lambda m, args, out: seen.append(out.shape) or out * 2)
    second = model["head"].register_full_backward_hook(lambda m, gi, go: told.append(go[0].norm().item()))
    model["body"].weight.register_hook(lambda g: g.clamp(-0.1, 0.1))
    x = numbers(2, 2, 7).requires_grad_()
    y = model["head"](model["body"](x).relu()).squeeze(1)
    y.retain_grad()
    loss = F.kl_div(F.log_softmax(y, -1), F.softmax(numbers(2, 7, seed=9), -1), reduction="batchmean")
    loss.backward(retain_graph=True)
    first.remove(), second.remove()
    model["body"].requires_grad_(False)
    with torch.no_grad():
        for p in (p for p in model.parameters() if p.requires_grad):
            p.sub_(p.grad, alpha=0.1)
            p.grad.zero_()
    again = model["head"](model["body"](x)).mean()
    again.backward()
    return [loss.item(), *told, y.grad.norm().item(), x.grad.norm().item(), again.item(), len(seen), *seen[0],
            *(p.grad.norm().item() for p in model.parameters())]  # fmt: skip


# -- a linear solver in the loop, and an implicit layer ---------------------------------------------------------
def solving():
    A = nn.Parameter(numbers(4, 4, seed=2) * 0.2)
    b = numbers(4, 2, seed=3)
    z = torch.zeros(4, 2)
    with torch.no_grad():
        for _ in range(200):
            z = torch.tanh(A @ z + b)
    z = torch.tanh(A @ z + b)
    fixed = z.detach().clone().requires_grad_()
    inner = torch.tanh(A @ fixed + b)
    z.register_hook(lambda g: torch.linalg.solve(
        torch.eye(8) - torch.autograd.functional.jacobian(
            lambda v: torch.tanh(A.detach() @ v.view(4, 2) + b).flatten(), fixed.detach().flatten()).T,
        g.flatten()).view_as(g))  # fmt: skip
    z.pow(2).sum().backward()
    L = torch.linalg.cholesky(A.T @ A + torch.eye(4))
    logdet = 2 * L.diagonal().log().sum()
    sign, value = torch.linalg.slogdet(A.T @ A + torch.eye(4))
    (g,) = torch.autograd.grad(logdet - 0.5 * value * sign, A)
    _, S, _ = torch.linalg.svd(A, full_matrices=False)
    rank = torch.linalg.matrix_rank(A)
    return [
        *A.grad.flatten().tolist(),
        *g.flatten().tolist(),
        *S.tolist(),
        rank.item(),
        (inner - fixed).abs().max().item() < 1e-9,
    ]


HABITS = [
    tied_language_model, custom_functions, loading, reader, per_sample, resuming, spectral, sampling, repairing,
    attending, hooked, solving,
]  # fmt: skip
