"""Parts of models as they are written for PyTorch, a function each, which gives numbers. Both libraries run it."""

import math
from typing import Optional, Tuple

import numpy as np

import lucidgrad.torch as torch
import lucidgrad.torch.nn as nn
import lucidgrad.torch.nn.functional as F
from lucidgrad.torch import Tensor
from lucidgrad.torch.distributions import Bernoulli, Beta, Categorical, Independent, Normal, kl_divergence
from lucidgrad.torch.nn.utils import parametrize


def numbers(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape)).to(torch.get_default_dtype())


def filled(module, seed=1):
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.from_numpy(0.3 * rng.standard_normal(tuple(p.shape))))
    return module


def result(out, module):
    """A loss of an output, and the size of each gradient."""
    loss = out.pow(2).mean()
    loss.backward()
    return [loss.item(), *(p.grad.norm().item() for p in module.parameters() if p.grad is not None)]


# -- attention -----------------------------------------------------------------------------------
class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.double()).type_as(x) * self.weight


def precompute_freqs_cis(dim: int, end: int, theta: float = 10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].double() / dim))
    freqs = torch.outer(torch.arange(end, device=freqs.device).double(), freqs)
    return torch.polar(torch.ones_like(freqs), freqs)


def apply_rotary_emb(xq: Tensor, xk: Tensor, freqs_cis: Tensor) -> Tuple[Tensor, Tensor]:
    xq_ = torch.view_as_complex(xq.reshape(*xq.shape[:-1], -1, 2))
    xk_ = torch.view_as_complex(xk.reshape(*xk.shape[:-1], -1, 2))
    freqs_cis = freqs_cis.view(1, xq_.shape[1], 1, xq_.shape[-1])
    xq_out = torch.view_as_real(xq_ * freqs_cis).flatten(3)
    xk_out = torch.view_as_real(xk_ * freqs_cis).flatten(3)
    return xq_out.type_as(xq), xk_out.type_as(xk)


class LlamaAttention(nn.Module):
    def __init__(self, dim=8, n_heads=4, n_kv_heads=2, max_len=8):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = n_heads, n_kv_heads, dim // n_heads
        self.wq = nn.Linear(dim, n_heads * self.head_dim, bias=False)
        self.wk = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wv = nn.Linear(dim, n_kv_heads * self.head_dim, bias=False)
        self.wo = nn.Linear(dim, dim, bias=False)
        self.norm = RMSNorm(dim)
        self.register_buffer("freqs_cis", precompute_freqs_cis(self.head_dim, max_len), persistent=False)
        self.cache_k: Optional[Tensor] = None
        self.cache_v: Optional[Tensor] = None

    def forward(self, x, start=0, mask=None, cache=False):
        b, t, _ = x.shape
        h = self.norm(x)
        xq = self.wq(h).view(b, t, self.n_heads, self.head_dim)
        xk = self.wk(h).view(b, t, self.n_kv_heads, self.head_dim)
        xv = self.wv(h).view(b, t, self.n_kv_heads, self.head_dim)
        xq, xk = apply_rotary_emb(xq, xk, self.freqs_cis[start : start + t])
        if cache:
            self.cache_k = xk if start == 0 else torch.cat([self.cache_k, xk], dim=1)
            self.cache_v = xv if start == 0 else torch.cat([self.cache_v, xv], dim=1)
            xk, xv = self.cache_k, self.cache_v
        n_rep = self.n_heads // self.n_kv_heads
        xk = xk[:, :, :, None, :].expand(-1, -1, -1, n_rep, -1).reshape(b, -1, self.n_heads, self.head_dim)
        xv = torch.repeat_interleave(xv, dim=2, repeats=n_rep)
        xq, xk, xv = (z.transpose(1, 2) for z in (xq, xk, xv))
        scores = torch.matmul(xq, xk.transpose(2, 3)) / math.sqrt(self.head_dim)
        if mask is not None:
            scores = scores + mask
        out = torch.matmul(F.softmax(scores, dim=-1).type_as(xq), xv)
        return x + self.wo(out.transpose(1, 2).contiguous().view(b, t, -1))


def rotary_attention_with_a_cache():
    layer, x = filled(LlamaAttention()), numbers(2, 5, 8)
    mask = torch.full((5, 5), float("-inf"))
    mask = torch.triu(mask, diagonal=1).type_as(x)
    whole = layer(x, mask=mask)
    with torch.inference_mode():
        first = layer(x[:, :3], 0, mask[:3, :3], cache=True)
        rest = [layer(x[:, i : i + 1], i, cache=True) for i in range(3, 5)]
    same = torch.allclose(torch.cat([first, *rest], 1), whole, atol=1e-6)
    return [same, *result(whole, layer)]


def vision_transformer():
    class ViT(nn.Module):
        def __init__(self, size=8, patch=4, dim=12, classes=3):
            super().__init__()
            n = (size // patch) ** 2
            self.patch_embed = nn.Conv2d(1, dim, kernel_size=patch, stride=patch)
            self.cls_token = nn.Parameter(torch.zeros(1, 1, dim))
            self.pos_embed = nn.Parameter(torch.zeros(1, n + 1, dim))
            layer = nn.TransformerEncoderLayer(dim, 2, 16, dropout=0.0, activation="gelu", batch_first=True,
                                               norm_first=True)  # fmt: skip
            self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
            self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, classes))
            nn.init.trunc_normal_(self.pos_embed, std=0.02)

        def forward(self, x):
            x = self.patch_embed(x).flatten(2).transpose(1, 2)
            x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.pos_embed
            return self.head(self.encoder(x)[:, 0])

    model = filled(ViT())
    out = model(numbers(3, 1, 8, 8))
    return result(out, model)[:6]


def translation_with_masks():
    model = filled(nn.Transformer(8, 2, 1, 1, 12, dropout=0.0, batch_first=True))
    src, tgt = numbers(2, 4, 8), numbers(2, 3, 8, seed=2)
    tgt_mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1)).to(src.dtype)
    padding = torch.tensor([[False, False, False, True], [False, False, True, True]])
    out = model(src, tgt, tgt_mask=tgt_mask, src_key_padding_mask=padding, memory_key_padding_mask=padding)
    return result(out, model)[:5]


def mixture_of_experts():
    x = numbers(6, 4)
    gate, experts = filled(nn.Linear(4, 3, bias=False)), filled(nn.ModuleList([nn.Linear(4, 4) for _ in range(3)]), 2)
    weights, selected = torch.topk(F.softmax(gate(x), dim=1), 2, dim=-1)
    weights /= weights.sum(dim=-1, keepdim=True)
    out = torch.zeros_like(x)
    hit = F.one_hot(selected, num_classes=3).permute(2, 1, 0)
    for i, expert in enumerate(experts):
        idx, top_x = torch.where(hit[i])
        current = x[None, top_x].reshape(-1, 4)
        out.index_add_(0, top_x, (expert(current) * weights[top_x, idx, None]).to(x.dtype))
    load = hit.float().mean(dim=(1, 2)).sum().item()
    return [load, *result(out, nn.ModuleList([gate, experts]))]


# -- sequences -----------------------------------------------------------------------------------
def translation_by_attention():
    encoder, decoder = filled(nn.GRU(3, 6, batch_first=True)), filled(nn.GRUCell(9, 6), 2)
    Wa, Ua, Va = filled(nn.Linear(6, 6)), filled(nn.Linear(6, 6), 3), filled(nn.Linear(6, 1), 4)
    keys, hidden = encoder(numbers(2, 5, 3))
    h, outputs = hidden.squeeze(0), []
    token = torch.zeros(2, 3)
    for _ in range(3):
        scores = Va(torch.tanh(Wa(h.unsqueeze(1)) + Ua(keys))).squeeze(2).unsqueeze(1)
        context = torch.bmm(F.softmax(scores, dim=-1), keys)
        h = decoder(torch.cat([token, context.squeeze(1)], dim=1), h)
        _, topi = h.topk(1)
        token = F.one_hot(topi.squeeze(-1).detach() % 3, 3).to(h.dtype)
        outputs.append(h)
    return result(torch.stack(outputs, dim=1), nn.ModuleList([encoder, decoder, Wa, Ua, Va]))


def language_model_with_carried_state():
    rnn = filled(nn.LSTM(4, 5, 2))
    data = torch.arange(24).narrow(0, 0, 24).view(2, -1).t().contiguous()
    table, head = filled(nn.Embedding(24, 4), 2), filled(nn.Linear(5, 24), 3)
    hidden, losses = tuple(torch.zeros(2, 2, 5) for _ in range(2)), []
    for i in range(0, data.size(0) - 1, 4):
        n = min(4, len(data) - 1 - i)
        hidden = tuple(h.detach() for h in hidden)
        out, hidden = rnn(table(data[i : i + n]), hidden)
        loss = F.nll_loss(F.log_softmax(head(out).view(-1, 24), dim=1), data[i + 1 : i + 1 + n].reshape(-1))
        loss.backward()
        for p in rnn.parameters():
            p.data.add_(p.grad, alpha=-0.1)
            p.grad = None
        losses.append(loss.item())
    return [*losses, math.exp(sum(losses) / len(losses))]


def beam_search():
    logits = numbers(4, 6)
    beams = [(0.0, [])]
    for row in F.log_softmax(logits, dim=-1):
        candidates = []
        for score, seq in beams:
            top = torch.topk(row + 0.1 * len(set(seq)), 3)
            candidates += [(score + v.item(), [*seq, int(i)]) for v, i in zip(top.values, top.indices)]
        beams = sorted(candidates, key=lambda c: c[0], reverse=True)[:2]
    return [beams[0][0], *beams[0][1], *beams[1][1]]


# -- losses --------------------------------------------------------------------------------------
def contrastive():
    z = F.normalize(numbers(8, 5).requires_grad_(), dim=1)
    sim = torch.mm(z, z.t()) / 0.5
    labels = torch.cat([torch.arange(4) for _ in range(2)], dim=0)
    labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
    mask = torch.eye(8, dtype=torch.bool)
    labels, sim = labels[~mask].view(8, -1), sim[~mask].view(8, -1)
    positives, negatives = sim[labels.bool()].view(8, -1), sim[~labels.bool()].view(8, -1)
    loss = F.cross_entropy(torch.cat([positives, negatives], dim=1), torch.zeros(8, dtype=torch.long))
    clip = F.cross_entropy(z[:4] @ z[4:].T * 3, torch.arange(4)) + F.cross_entropy(z[4:] @ z[:4].T * 3, torch.arange(4))
    return [loss.item(), clip.item()]


def losses_of_ones_own():
    x, y = numbers(5, 3).requires_grad_(), torch.tensor([0, 2, 1, 0, 2])
    ce = F.cross_entropy(x, y, reduction="none")
    focal = (0.25 * (1 - torch.exp(-ce)) ** 2 * ce).mean()
    teacher = numbers(5, 3, seed=3)
    distil = nn.KLDivLoss(reduction="batchmean")(F.log_softmax(x / 2, dim=1), F.softmax(teacher / 2, dim=1)) * 4
    p = torch.sigmoid(x[:, 0])
    dice = 1 - (2 * (p * (y > 0)).sum() + 1) / (p.sum() + (y > 0).sum() + 1)
    triplet = nn.TripletMarginLoss(margin=1.0)(x, teacher, teacher.flip(0))
    iou = torch.clamp(torch.min(x[:, 0], teacher[:, 0]) - torch.max(x[:, 1], teacher[:, 1]), min=0).sum()
    weighted = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 0.5]), ignore_index=2)(x, y)
    bce = nn.BCEWithLogitsLoss(pos_weight=torch.tensor([3.0]))(x[:, :1], (y == 0).to(x.dtype).unsqueeze(1))
    total = focal + distil + dice + triplet + 0.1 * iou + weighted + bce
    total.backward()
    return [v.item() for v in (focal, distil, dice, triplet, iou, weighted, bce)] + [x.grad.norm().item()]


def style():
    def gram(x):
        a, b, c, d = x.size()
        features = x.view(a * b, c * d)
        return torch.mm(features, features.t()).div(a * b * c * d)

    net = filled(nn.Conv2d(1, 3, 3, padding=1))
    target = gram(net(numbers(1, 1, 6, 6))).detach()
    image = numbers(1, 1, 6, 6, seed=4).requires_grad_(True)
    net.requires_grad_(False)
    optimizer, run = torch.optim.LBFGS([image], max_iter=5), []

    def closure():
        with torch.no_grad():
            image.clamp_(-2, 2)
        optimizer.zero_grad()
        loss = F.mse_loss(gram(net(image)), target) * 100
        loss += 0.01 * (image[..., 1:] - image[..., :-1]).abs().sum()
        loss += 0.01 * (image[..., 1:, :] - image[..., :-1, :]).pow(2).sum()
        loss.backward()
        run.append(loss.item())
        return loss

    optimizer.step(closure)
    return run


# -- equations, pictures, weights ----------------------------------------------------------------
def differential_equations():
    net = filled(nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1)))
    t, x = numbers(6, 1).requires_grad_(), numbers(6, 1, seed=2).requires_grad_()
    u = net(torch.cat([t, x], dim=1))
    u_t = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]
    u_x = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
    u_xx = torch.autograd.grad(u_x, x, grad_outputs=torch.ones_like(u_x), create_graph=True)[0]
    numbers_of = result(u_t + u * u_x - 0.01 * u_xx, net)
    y = torch.tensor([1.0, 0.0], requires_grad=True)
    state, dt = y, 0.1
    for _ in range(5):
        k1 = torch.stack([state[1], -state[0]])
        mid = state + dt / 2 * k1
        state = state + dt * torch.stack([mid[1], -torch.sin(mid[0])])
    state.norm().backward()
    return [*numbers_of, *y.grad.tolist()]


def pictures():
    x = numbers(2, 3, 6, 6).requires_grad_()
    theta = torch.tensor([[0.87, 0.13, 0.03], [-0.11, 0.93, 0.07]]).repeat(2, 1, 1).requires_grad_()
    warped = F.grid_sample(x, F.affine_grid(theta, x.size(), align_corners=False), align_corners=False)
    small = F.adaptive_avg_pool2d(F.max_pool2d(warped, 2), 2)
    large = F.pixel_shuffle(F.interpolate(x[:, :1].repeat(1, 4, 1, 1), scale_factor=2, mode="bicubic"), 2)
    patches = x.unfold(2, 3, 3).unfold(3, 3, 3).contiguous().view(2, 3, -1, 3, 3).permute(0, 2, 1, 3, 4)
    folded = F.fold(F.unfold(x, 3, padding=1), (6, 6), 3, padding=1)
    ssim = (F.avg_pool2d(x * warped, 3, 1) - F.avg_pool2d(x, 3, 1) * F.avg_pool2d(warped, 3, 1)).mean()
    mean, std = x.mean(dim=[0, 2, 3], keepdim=True), x.std(dim=(2, 3), unbiased=False)
    (small.sum() + large.mean() + patches[0].pow(2).sum() + folded.std() + ssim + mean.norm() + std.sum()).backward()
    return [
        small.sum().item(),
        large.mean().item(),
        folded.std().item(),
        x.grad.norm().item(),
        theta.grad.norm().item(),
    ]


class LoRA(nn.Module):
    def __init__(self, fan_out, fan_in, rank=2, alpha=4):
        super().__init__()
        self.A = nn.Parameter(0.1 * torch.ones(rank, fan_in))
        self.B = nn.Parameter(torch.zeros(fan_out, rank))
        self.scaling = alpha / rank

    def forward(self, w):
        return w + (self.B @ self.A).view(w.shape) * self.scaling


def low_rank_adaptation():
    model = filled(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)))
    for layer in model:
        if isinstance(layer, nn.Linear):
            for p in layer.parameters():
                p.requires_grad_(False)
            parametrize.register_parametrization(layer, "weight", LoRA(*layer.weight.shape))
    trained = [p for n, p in model.named_parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=0.05)
    losses = []
    for _ in range(4):
        loss = F.mse_loss(model(numbers(5, 4)), numbers(5, 2, seed=2))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    for layer in (model[0], model[2]):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=True)
    return [*losses, len(trained), model(numbers(5, 4)).sum().item(), len(list(model.state_dict()))]


def probabilities():
    mu, log_sigma = numbers(3).requires_grad_(), numbers(3, seed=2).requires_grad_()
    q, p = Normal(mu, log_sigma.exp()), Normal(torch.zeros(3), torch.ones(3))
    kl = kl_divergence(q, p).sum()
    policy = Categorical(logits=numbers(2, 4, seed=3))
    action = torch.tensor([1, 3])
    squashed = torch.tanh(mu + log_sigma.exp() * 0.3)
    log_prob = q.log_prob(mu + 0.3) - torch.log(1 - squashed.pow(2) + 1e-6)
    elbo = Independent(Bernoulli(logits=mu), 1).log_prob(torch.tensor([1.0, 0.0, 1.0])) - kl + log_prob.sum()
    elbo.backward()
    beta = Beta(torch.tensor(2.0), torch.tensor(3.0))
    return [kl.item(), elbo.item(), *mu.grad.tolist(), *log_sigma.grad.tolist(), policy.log_prob(action).sum().item(),
            policy.entropy().mean().item(), beta.log_prob(torch.tensor(0.3)).item(), beta.mean.item()]  # fmt: skip


def gumbel_and_quantisers():
    torch.manual_seed(0)
    logits = numbers(4, 3).requires_grad_()
    hard = F.gumbel_softmax(logits, tau=0.5, hard=True)
    z, book = numbers(6, 2).requires_grad_(), filled(nn.Embedding(4, 2))
    d = torch.sum(z**2, dim=1, keepdim=True) + torch.sum(book.weight**2, dim=1) - 2 * torch.matmul(z, book.weight.t())
    at = torch.argmin(d, dim=1).unsqueeze(1)
    one = torch.zeros(at.shape[0], 4, device=z.device).scatter_(1, at, 1)
    quantized = torch.matmul(one, book.weight)
    loss = F.mse_loss(quantized.detach(), z) + 0.25 * F.mse_loss(quantized, z.detach())
    through = z + (quantized - z).detach()
    perplexity = torch.exp(-torch.sum(one.mean(0) * torch.log(one.mean(0) + 1e-10)))
    (loss + through.sum()).backward()
    return [hard.sum().item(), loss.item(), perplexity.item(), z.grad.norm().item(), book.weight.grad.norm().item()]


HABITS = [
    rotary_attention_with_a_cache, vision_transformer, translation_with_masks, mixture_of_experts,
    translation_by_attention, language_model_with_carried_state, beam_search, contrastive, losses_of_ones_own, style,
    differential_equations, pictures, low_rank_adaptation, probabilities, gumbel_and_quantisers,
]  # fmt: skip
