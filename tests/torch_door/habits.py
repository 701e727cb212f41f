"""Habits of programs for PyTorch, a function each, which gives numbers. Both libraries run it, as the scripts."""

import copy
import io
import math
from collections import OrderedDict, defaultdict
from functools import partial

import numpy as np

import lucidgrad.torch as torch
import lucidgrad.torch.nn as nn
import lucidgrad.torch.nn.functional as F
from lucidgrad.torch.autograd import Function, Variable
from lucidgrad.torch.func import functional_call, grad, vmap
from lucidgrad.torch.nn.utils import parameters_to_vector, vector_to_parameters
from lucidgrad.torch.optim.optimizer import Optimizer
from lucidgrad.torch.utils.checkpoint import checkpoint
from lucidgrad.torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, random_split


def numbers(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape)).to(torch.get_default_dtype())


def filled(module, seed=1):
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for p in module.parameters():
            p.copy_(torch.from_numpy(0.3 * rng.standard_normal(tuple(p.shape))))
    return module


def network(seed=1):
    return filled(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)), seed)


# -- derivatives ---------------------------------------------------------------------------------
class Clamp(Function):
    """A straight-through estimator."""

    @staticmethod
    def forward(ctx, x, low, high):
        ctx.save_for_backward(x)
        ctx.low, ctx.high = low, high
        return x.clamp(min=low, max=high)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[x < ctx.low] *= 0.1
        grad_input[x > ctx.high] = 0
        return grad_input, None, None


def custom_function():
    x = numbers(6).requires_grad_(True)
    y = Clamp.apply(x, -0.5, 0.5)
    (y**2).sum().backward()
    ok = torch.autograd.gradcheck(lambda t: torch.tanh(t).sum(), (numbers(3).double().requires_grad_(),))
    return [*x.grad.tolist(), ok]


def gradient_penalty():
    critic = network()
    real, fake = numbers(5, 4), numbers(5, 4, seed=2)
    alpha = torch.rand(5, 1) * 0 + 0.3
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = critic(mixed)
    gradients = torch.autograd.grad(
        outputs=score, inputs=mixed, grad_outputs=torch.ones_like(score), create_graph=True, retain_graph=True
    )[0]
    penalty = ((gradients.view(gradients.size(0), -1).norm(2, dim=1) - 1) ** 2).mean()
    penalty.backward()
    return [penalty.item(), *(p.grad.norm().item() for p in critic.parameters() if p.grad is not None)]


def fgsm():
    model, x, y = network(), numbers(5, 4), torch.tensor([0, 1, 2, 0, 1])
    x.requires_grad = True
    loss = F.nll_loss(F.log_softmax(model(x), dim=1), y)
    model.zero_grad()
    loss.backward()
    attacked = torch.clamp(x + 0.1 * x.grad.data.sign(), -1, 1)
    with torch.no_grad():
        init_pred = model(x).max(1, keepdim=True)[1]
        final_pred = model(attacked).max(1, keepdim=True)[1]
    return [loss.item(), F.cross_entropy(model(attacked), y).item(), init_pred.eq(y.view_as(init_pred)).sum().item(),
            (final_pred == y.view_as(final_pred)).long().sum().item()]  # fmt: skip


def maml():
    model, x, y = network(), numbers(6, 4), numbers(6, 3, seed=3)
    params = {k: v.detach() for k, v in model.named_parameters()}

    def inner(params, x, y):
        return F.mse_loss(functional_call(model, params, (x,)), y)

    def outer(params):
        adapted = params
        for _ in range(2):
            g = grad(inner)(adapted, x[:3], y[:3])
            adapted = {k: adapted[k] - 0.1 * g[k] for k in adapted}
        return inner(adapted, x[3:], y[3:])

    g = grad(outer)(params)
    rows = vmap(grad(inner), in_dims=(None, 0, 0))(params, x, y)
    return [
        outer(params).item(),
        *(v.sum().item() for v in g.values()),
        *(v.pow(2).sum().item() for v in rows.values()),
    ]


def maml_by_hand():
    w = numbers(3).requires_grad_()
    x, y = numbers(8, 3, seed=4), numbers(8, seed=5)
    loss = ((x[:4] @ w - y[:4]) ** 2).mean()
    (g,) = torch.autograd.grad(loss, w, create_graph=True)
    after = ((x[4:] @ (w - 0.05 * g) - y[4:]) ** 2).mean()
    after.backward()
    return [after.item(), *w.grad.tolist()]


def jacobians():
    f = network()
    x = numbers(4)
    J = torch.autograd.functional.jacobian(f, x)
    H = torch.func.hessian(lambda t: f(t).pow(2).sum())(x)
    return [J.norm().item(), H.trace().item(), torch.func.jacrev(f)(x).sub(J).abs().max().item() < 1e-12]


def checkpointing():
    model, x = network(), numbers(5, 4).requires_grad_()
    y = checkpoint(model, x, use_reentrant=False)
    y.sum().backward()
    return [y.sum().item(), x.grad.norm().item()]


def anomaly_and_hooks_on_tensors():
    x = numbers(3).requires_grad_()
    seen = []
    with torch.autograd.set_detect_anomaly(True):
        y = x.exp()
        y.register_hook(lambda g: seen.append(g.sum().item()) or g * 2)
        y.retain_grad()
        (y * y).sum().backward()
    return [*x.grad.tolist(), *seen, y.grad.sum().item()]


# -- modules -------------------------------------------------------------------------------------
def grad_cam():
    model = filled(nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                                 nn.Linear(3, 2)))  # fmt: skip
    kept = {}
    handles = [
        model[1].register_forward_hook(lambda module, inputs, output: kept.update(activation=output.detach())),
        model[1].register_full_backward_hook(lambda module, gin, gout: kept.update(gradient=gout[0].detach())),
        model[0].register_forward_pre_hook(lambda module, args: (args[0] * 2,)),
    ]
    out = model(numbers(1, 1, 6, 6))
    out[:, out.argmax(dim=1)].sum().backward()
    weights = kept["gradient"].mean(dim=(2, 3), keepdim=True)
    cam = F.relu((weights * kept["activation"]).sum(dim=1, keepdim=True))
    cam = F.interpolate(cam, size=(12, 12), mode="bilinear", align_corners=False)
    cam = (cam - cam.min()) / (cam.max() - cam.min() + 1e-8)
    for handle in handles:
        handle.remove()
    return [cam.sum().item(), cam.squeeze().cpu().numpy().shape[0]]


def state_dict_surgery():
    old, new = network(), nn.Sequential(OrderedDict([("fc1", nn.Linear(4, 8)), ("act", nn.Tanh()),
                                                     ("fc2", nn.Linear(8, 5))]))  # fmt: skip
    filled(new, 2)
    wrapped = {f"module.{k}": v for k, v in old.state_dict().items()}
    renamed = {}
    for k, v in wrapped.items():
        k = k.replace("module.", "").replace("0.", "fc1.").replace("2.", "fc2.")
        renamed[k] = v
    own = new.state_dict()
    fits = {k: v for k, v in renamed.items() if k in own and v.size() == own[k].size()}
    own.update(fits)
    missing = new.load_state_dict({k: v for k, v in own.items() if "fc2" not in k}, strict=False)
    buffer = io.BytesIO()
    torch.save(new.state_dict(), buffer)
    buffer.seek(0)
    new.load_state_dict(torch.load(buffer, weights_only=True))
    for name, p in new.named_parameters():
        p.requires_grad = name.startswith("fc2")
    optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, new.parameters()), lr=0.1)
    new(numbers(2, 4)).sum().backward()
    optimizer.step()
    frozen = sum(p.numel() for p in new.parameters() if not p.requires_grad)
    return [len(fits), len(missing.missing_keys), frozen, *(p.sum().item() for p in new.parameters())]


def dictionaries_of_modules():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.choices = nn.ModuleDict({"conv": nn.Conv1d(2, 3, 3, padding=1), "pool": nn.MaxPool1d(3)})
            self.activations = nn.ModuleDict([["lrelu", nn.LeakyReLU()], ["prelu", nn.PReLU()]])
            self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
            self.scale = nn.ParameterDict({"a": nn.Parameter(torch.ones(1)), "b": nn.Parameter(torch.zeros(3))})
            self.register_buffer("steps", torch.tensor(0))
            self.register_parameter("absent", None)

        def forward(self, x, choice, act):
            x = self.activations[act](self.choices[choice](x))
            x = x.mean(-1)
            for i, layer in enumerate(self.layers):
                x = self.layers[i // 2](x) + layer(x)
            self.steps += 1
            return x * self.scale["a"] + self.scale["b"]

    model = filled(Model())
    out = model(numbers(2, 2, 6), "conv", "prelu")
    out.sum().backward()
    names = [name for name, _ in model.named_parameters()]
    clone = copy.deepcopy(model)
    total = sum(p.numel() for p in clone.parameters() if p.requires_grad)
    children = [type(m).__name__ for m in model.children()]
    return [
        out.sum().item(),
        len(names),
        total,
        model.steps.item(),
        len(children),
        "Linear(in_features=3" in str(model),
    ]


def weights_by_apply():
    torch.manual_seed(0)

    def init(m):
        if type(m) == nn.Linear:  # noqa: E721
            nn.init.xavier_uniform_(m.weight, gain=nn.init.calculate_gain("tanh"))
            m.bias.data.fill_(0.01)
        if isinstance(m, nn.Embedding):
            m.weight.data.uniform_(-0.1, 0.1)

    model = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3))
    model.apply(init)
    bound = math.sqrt(6 / 7) * 5 / 3
    inside = model[1].weight.abs().max().item() <= bound and model[0].weight.abs().max().item() <= 0.1
    return [inside, model[1].bias.sum().item(), next(model.parameters()).is_cuda]


def parametrised():
    model = filled(nn.Linear(4, 3))
    nn.utils.parametrizations.weight_norm(model)
    vector = parameters_to_vector(model.parameters())
    vector_to_parameters(vector * 0.5, model.parameters())
    model(numbers(2, 4)).sum().backward()
    return [vector.numel(), vector.sum().item(), model(numbers(1, 4)).sum().item()]


# -- training ------------------------------------------------------------------------------------
def gradient_accumulation():
    model, data = network(), TensorDataset(numbers(12, 4), torch.arange(12) % 3)
    loader = DataLoader(data, batch_size=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    accumulate, losses = 2, []
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y) / accumulate
        loss.backward()
        if (i + 1) % accumulate == 0 or (i + 1) == len(loader):
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item() * accumulate)
    return losses


class EarlyStopping:
    def __init__(self, patience=2, delta=0.0):
        self.patience, self.delta, self.counter = patience, delta, 0
        self.best_score, self.early_stop, self.best = None, False, None

    def __call__(self, val_loss, model):
        score = -val_loss
        if self.best_score is None or score > self.best_score + self.delta:
            self.best_score, self.counter, self.best = score, 0, copy.deepcopy(model.state_dict())
        else:
            self.counter += 1
            self.early_stop = self.counter >= self.patience


def early_stopping():
    model, x, y = network(), numbers(10, 4), numbers(10, 3, seed=7)
    stopper, optimizer = EarlyStopping(), torch.optim.Adagrad(model.parameters(), lr=1.0)
    losses = []
    for _ in range(15):
        loss = F.mse_loss(model(x[:7]), y[:7])
        optimizer.zero_grad(), loss.backward(), optimizer.step()
        model.eval()
        with torch.inference_mode():
            val = F.l1_loss(model(x[7:]), y[7:]).item()
        model.train()
        stopper(val, model)
        losses.append(val)
        if stopper.early_stop:
            break
    model.load_state_dict(stopper.best)
    return [*losses, F.l1_loss(model(x[7:]), y[7:]).item()]


def learning_rate_finder():
    model, x, y = network(), numbers(10, 4), torch.arange(10) % 3
    start = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=10 ** (5 / 9))
    lrs, losses = [], []
    for _ in range(10):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
        lrs.append(scheduler.get_last_lr()[0])
        losses.append(loss.item())
    model.load_state_dict(start)
    onecycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=6)
    for _ in range(5):
        optimizer.step()
        onecycle.step()
    return [*lrs, *losses, int(np.argmin(np.gradient(np.array(losses)))), onecycle.get_last_lr()[0]]


def mixup():
    rng = np.random.default_rng(3)
    model, x, y = network(), numbers(6, 4), torch.arange(6) % 3
    lam, index = float(rng.beta(1.0, 1.0)), torch.from_numpy(rng.permutation(6))
    mixed, y_a, y_b = lam * x + (1 - lam) * x[index, :], y, y[index]
    criterion = nn.CrossEntropyLoss()
    out = model(mixed)
    loss = lam * criterion(out, y_a) + (1 - lam) * criterion(out, y_b)
    soft = F.one_hot(y, num_classes=3).to(out.dtype)
    soft = lam * soft + (1 - lam) * soft[index]
    other = torch.mean(torch.sum(-soft * F.log_softmax(out, dim=-1), dim=-1))
    (loss + other).backward()
    return [loss.item(), other.item(), model[0].weight.grad.norm().item()]


class Lookahead(Optimizer):
    """An optimiser of one's own."""

    def __init__(self, params, lr=0.1, beta=0.9):
        if lr <= 0:
            raise ValueError(f"Invalid lr: {lr}")
        super().__init__(params, dict(lr=lr, beta=beta))

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                grad, state = p.grad, self.state[p]
                if len(state) == 0:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p, memory_format=torch.preserve_format)
                    state["slow"] = torch.clone(p, memory_format=torch.preserve_format).detach()
                state["step"] += 1
                state["exp_avg"].mul_(group["beta"]).add_(grad, alpha=1 - group["beta"])
                p.add_(state["exp_avg"], alpha=-group["lr"])
                p.addcdiv_(grad, grad.abs().add_(1.0), value=-1e-2)
                if state["step"] % 3 == 0:
                    state["slow"].lerp_(p, 0.5)
                    p.copy_(state["slow"])
        return loss


def own_optimizer():
    model, x, y = network(), numbers(8, 4), numbers(8, 3, seed=9)
    optimizer = Lookahead([{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.05}])

    def closure():
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(7)]
    lbfgs = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")

    def closure():
        lbfgs.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    losses += [float(lbfgs.step(closure)) for _ in range(2)]
    return [*losses, len(optimizer.state_dict()["state"])]


def averages_of_weights():
    model, x, y = network(), numbers(8, 4), numbers(8, 3, seed=9)
    swa = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.02)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=3)
    for _ in range(5):
        optimizer.zero_grad()
        F.mse_loss(model(x), y).backward()
        optimizer.step()
        scheduler.step()
        swa.update_parameters(model)
    shadow = {name: p.clone().detach() for name, p in model.named_parameters()}
    for name, p in model.named_parameters():
        shadow[name] = 0.9 * shadow[name] + 0.1 * p.data
        p.data.copy_(shadow[name])
    return [swa(x).sum().item(), model(x).sum().item(), optimizer.param_groups[0]["lr"]]


# -- data ----------------------------------------------------------------------------------------
class Texts(Dataset):
    def __init__(self):
        self.texts = [[3, 1], [2, 2, 2, 1], [4], [1, 2, 3]]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, idx):
        if torch.is_tensor(idx):
            idx = idx.tolist()
        return {"text": self.texts[idx], "label": idx % 2, "weight": float(idx)}


def pad_collate(batch):
    longest = max(len(item["text"]) for item in batch)
    text = torch.zeros(len(batch), longest).long()
    mask = torch.zeros(len(batch), longest, dtype=torch.bool)
    for i, item in enumerate(batch):
        text[i, : len(item["text"])] = torch.tensor(item["text"])
        mask[i, : len(item["text"])] = 1
    return text, mask, torch.FloatTensor([item["label"] for item in batch]).view(-1, 1)


class Lines(IterableDataset):
    def __iter__(self):
        return iter(range(5))


def datasets():
    loader = DataLoader(Texts(), batch_size=2, shuffle=False, collate_fn=pad_collate)
    out = []
    for text, mask, label in loader:
        lengths = mask.sum(1)
        emb = F.embedding(text, torch.arange(10.0).view(5, 2))
        mean = (emb * mask.unsqueeze(-1)).sum(1) / lengths.unsqueeze(-1)
        out += [mean.sum().item(), label.sum().item(), lengths.float().mean().item()]
    train, test = random_split(TensorDataset(torch.arange(10)), [8, 2], generator=torch.Generator().manual_seed(42))
    default = next(iter(DataLoader(TensorDataset(numbers(4, 2), torch.arange(4)), batch_size=3)))
    plain = [b.tolist() for b in DataLoader(Lines(), batch_size=2)]
    sampled = DataLoader(Texts(), batch_sampler=[[0], [2, 3]], collate_fn=partial(pad_collate))
    return [*out, len(train), len(test), len(default), default[1].sum().item(), len(plain), len(list(sampled))]


# -- expressions ---------------------------------------------------------------------------------
def expressions():
    x, y = numbers(3, 4), numbers(3, 4, seed=2)
    mask = x > 0
    values, indices = torch.sort(x, dim=1, descending=True)
    top = torch.topk(x.flatten(), k=3)
    out = [
        torch.where(mask, x, torch.zeros_like(x)).sum(),
        torch.where(x > 0, x, torch.tensor(0.0)).sum(),
        torch.where(x > 0, 1.0, -1.0).sum(),
        torch.where(mask)[0].float().mean(),
        torch.einsum("ij,kj->ik", x, y).trace(),
        torch.einsum("bi,bj->bij", x, y).norm(),
        values[:, 0].sum() + indices[0, 0],
        top.values.sum() + top.indices.float().mean(),
        x.masked_fill(mask, -1e9).min(),
        (x.unsqueeze(1) - y.unsqueeze(0)).pow(2).sum(-1).sqrt().mean(),
        torch.cdist(x, y).mean(),
        x[mask].mean(),
        x[torch.arange(3), torch.tensor([0, 2, 1])].sum(),
        torch.stack([x, y], dim=1).view(-1, 4).mean(0)[0],
        torch.cat([x, y], -1).chunk(2, dim=-1)[1].sum(),
        x.std(dim=0).sum() + x.var(unbiased=False) + torch.std(x),
        torch.median(x) + x.max(dim=1)[0].sum() + torch.max(x, 1)[1].float().sum(),
        F.normalize(x, p=2, dim=1).matmul(F.normalize(y, dim=1).t()).diag().sum(),
        torch.bmm(x.view(3, 1, 4), y.view(3, 4, 1)).squeeze().sum(),
        x.expand(2, 3, 4).reshape(2, -1).sum(),
        x.repeat(2, 1).sum() + x.t().contiguous().view(-1)[5],
        torch.logsumexp(x, dim=1).sum() + x.softmax(-1).log().mean(),
        (x @ y.T).clamp_(min=0).sum() + x.abs().add(1).log().prod(),
        torch.triu(torch.ones(4, 4), diagonal=1).bool().float().sum(),
        torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(3)], batch_first=True).sum(),
        x.gather(1, indices[:, :1]).sum() + torch.gather(y, 1, indices).mean(),
        torch.zeros(3, 5).scatter_(1, torch.tensor([[1], [2], [4]]), 1.0).sum(0)[4],
        torch.arange(6).view(2, 3).float().mean(dim=(0, 1)),
        torch.linspace(0, 1, steps=5)[1] + torch.full((2,), 3.0).sum() + torch.eye(3)[0].sum(),
        torch.tensor([1, 2, 3]).float().pow(2).sum() / torch.tensor(3),
        torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")[1].sum().float(),
        torch.nonzero(mask).size(0) + torch.nonzero(mask, as_tuple=True)[1].float().mean(),
        torch.roll(x, shifts=1, dims=1)[0, 0] + torch.flip(x, dims=[0, 1])[0, 0],
        torch.split(x, [1, 2], dim=0)[1].sum() + x.split(2, dim=1)[0].sum(),
        x.new_tensor([1.0, 2.0]).sum() + x.new_full((2,), 0.5).sum() + torch.ones_like(x).sum(),
        torch.cumsum(x, dim=1)[:, -1].sum() + torch.cumprod(x.abs(), dim=0)[-1].sum(),
        torch.tril(x @ x.t()).sum() + torch.diag(torch.tensor([1.0, 2.0])).sum(),
        torch.bincount(torch.tensor([0, 1, 1, 4])).double().var(),
        torch.unique(torch.tensor([3, 1, 3])).float().sum(),
        torch.isnan(torch.tensor([1.0, float("nan")])).float().sum(),
        torch.allclose(x, x + 1e-12), torch.equal(x, x), torch.is_tensor(x), x.is_floating_point(), x.numel(),
        x.dim(), x.size(-1), x.nelement(), x.element_size(), len(x), x.shape[-1], x.ndimension(),
        torch.norm(x) + torch.norm(y, p=1, dim=1).sum() + torch.dist(x, y),
        torch.outer(x[0], y[0]).sum() + torch.dot(x[0], y[0]) + torch.mv(x, y[0]).sum(),
        torch.addmm(x, x @ x.t(), y).sum(),
        torch.clamp(x, -0.5, 0.5).sum() + torch.round(x * 10).sum() + torch.floor(x).sum() + torch.sign(x).sum(),
        torch.quantile(x, 0.3) + torch.kthvalue(x.flatten(), 3).values + torch.argmax(x).float() + x.argmin(1).sum(),
        F.pad(x, (1, 1), value=2.0).sum() + F.pad(x[None], (1, 2), mode="reflect").sum(),
        F.unfold(x.view(1, 1, 3, 4), kernel_size=2).sum() + F.one_hot(torch.tensor([0, 2]), 4).sum(),
    ]  # fmt: skip
    return [float(v) for v in out]


def in_place():
    x = numbers(3, 4)
    before = x.clone()
    x[0] = 0
    x[:, 1] += 5
    x[x > 4] = -1
    x.add_(1).mul_(2).sub_(0.5).div_(3)
    x.data[1] *= 2
    x[1, 2:].fill_(7)
    x[[0, 2]] = x[[2, 0]]
    y = torch.empty_like(x).normal_().zero_().copy_(x)
    y.index_fill_(0, torch.tensor([1]), 0.0)
    z = torch.zeros(5)
    z.index_add_(0, torch.tensor([0, 0, 4]), torch.tensor([1.0, 2.0, 3.0]))
    z.scatter_add_(0, torch.tensor([1, 1]), torch.tensor([0.5, 0.25]))
    torch.add(z, 1, out=z)
    return [x.sum().item(), before.sum().item(), y.sum().item(), *z.tolist()]


def types_and_places():
    x = torch.Tensor([[1, 2], [3, 4]])
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    n = torch.LongTensor([1, 2])
    seen = defaultdict(int)
    for t in (x, n, x > 2, x.half(), x.double()):
        seen[t.dtype] += 1
        seen[t.to(torch.float64).dtype] += 1
    y = Variable(x, requires_grad=True).to(device)
    kinds = {torch.float32: 1, torch.int64: 2, torch.bool: 3}
    return [
        isinstance(n, torch.LongTensor), isinstance(x, torch.Tensor), isinstance(x, torch.FloatTensor),
        x.type(torch.LongTensor).sum().item(), x.type(torch.float64).dtype == torch.float64,
        x.type() == "torch.FloatTensor",
        x.type_as(n).dtype == torch.long, kinds[torch.ones(1).float().dtype], kinds[n.dtype], kinds[(n > 1).dtype],
        seen[torch.float64], torch.float16.is_floating_point, torch.int32.is_floating_point, torch.cfloat.is_complex,
        torch.float32.itemsize, torch.get_default_dtype() == torch.tensor(1.0).dtype, y.requires_grad,
        device.type == "cpu",
        torch.finfo(torch.float32).max, torch.finfo(torch.float32).tiny, torch.iinfo(torch.int32).max,
        torch.finfo(x.dtype).eps, torch.tensor(3, dtype=torch.int).item(), x.cpu().numpy().sum(), x.tolist()[1][0],
        torch.as_tensor(np.arange(3.0), dtype=torch.float).mean().item(),
        torch.ones(2, dtype=torch.half).float().sum().item(),
        torch.Size([2, 3]).numel(), torch.Size([2, 3]) == torch.ones(2, 3).shape, torch.ones(2, 3).size() == (2, 3),
        x.is_cuda, x.device == torch.device("cpu"), str(torch.device("cuda", 1)) == "cuda:1",
        torch.device("cuda:1").index,
        x.is_contiguous(), x.t().is_contiguous(), x.stride()[0], x.data_ptr() == x.view(-1).data_ptr(),
        bool(torch.tensor(True)), int(torch.tensor(3)), torch.tensor([1, 2]).dtype == torch.int64, x.requires_grad,
        torch.is_floating_point(x), torch.promote_types(torch.int32, torch.float32) == torch.float32,
    ]  # fmt: skip


HABITS = [
    custom_function, gradient_penalty, fgsm, maml, maml_by_hand, jacobians, checkpointing, anomaly_and_hooks_on_tensors,
    grad_cam, state_dict_surgery, dictionaries_of_modules, weights_by_apply, parametrised, gradient_accumulation,
    early_stopping, learning_rate_finder, mixup, own_optimizer, averages_of_weights, datasets, expressions, in_place,
    types_and_places,
]  # fmt: skip
