"""A RealNVP flow: coupling layers with masks, the log-determinant, a normal base and samples back through the flow."""

import numpy as np

import lucidgrad.torch as torch
from lucidgrad.torch import distributions, nn


class RealNVP(nn.Module):
    def __init__(self, nets, nett, mask, prior):
        super().__init__()
        self.prior = prior
        self.mask = nn.Parameter(mask, requires_grad=False)
        self.t = torch.nn.ModuleList([nett() for _ in range(len(mask))])
        self.s = torch.nn.ModuleList([nets() for _ in range(len(mask))])

    def g(self, z):
        x = z
        for i in range(len(self.t)):
            x_ = x * self.mask[i]
            s = self.s[i](x_) * (1 - self.mask[i])
            t = self.t[i](x_) * (1 - self.mask[i])
            x = x_ + (1 - self.mask[i]) * (x * torch.exp(s) + t)
        return x

    def f(self, x):
        log_det_J, z = x.new_zeros(x.shape[0]), x
        for i in reversed(range(len(self.t))):
            z_ = self.mask[i] * z
            s = self.s[i](z_) * (1 - self.mask[i])
            t = self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + z_
            log_det_J -= s.sum(dim=1)
        return z, log_det_J

    def log_prob(self, x):
        z, logp = self.f(x)
        return self.prior.log_prob(z) + logp

    def sample(self, batchSize):
        z = self.prior.sample((batchSize, 1)).squeeze(1)
        return self.g(z)


def main(prepare=lambda model: None, steps=20):
    dtype = torch.get_default_dtype()

    def nets():
        return nn.Sequential(
            nn.Linear(2, 12), nn.LeakyReLU(), nn.Linear(12, 12), nn.LeakyReLU(), nn.Linear(12, 2), nn.Tanh()
        )

    def nett():
        return nn.Sequential(nn.Linear(2, 12), nn.LeakyReLU(), nn.Linear(12, 12), nn.LeakyReLU(), nn.Linear(12, 2))

    masks = torch.from_numpy(np.array([[0, 1], [1, 0]] * 2).astype(np.float32)).to(dtype)
    prior = distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
    flow = RealNVP(nets, nett, masks, prior)
    prepare(flow)
    optimizer = torch.optim.Adam([p for p in flow.parameters() if p.requires_grad is True], lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    rng = np.random.default_rng(6)

    history = []
    for _ in range(steps):
        angle = rng.uniform(0, np.pi, 16)
        moons = np.stack([np.cos(angle), np.sin(angle)], 1) + 0.05 * rng.standard_normal((16, 2))
        loss = -flow.log_prob(torch.from_numpy(moons).to(dtype)).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        scheduler.step()
        history.append(loss.item())

    with torch.no_grad():
        z, _ = flow.f(torch.from_numpy(moons).to(dtype))
        back = flow.g(z)
        history.append((back - torch.from_numpy(moons)).abs().max().item() < 1e-5)
        x = flow.sample(5).detach().numpy()
        history += [float(x.mean()), float(x.std())]
    base = distributions.Independent(distributions.Normal(torch.zeros(2), torch.ones(2)), 1)
    history.append((base.log_prob(z) - prior.log_prob(z)).abs().sum().item() < 1e-9)
    return history, {"flow": flow}


if __name__ == "__main__":
    print(main()[0][-1])
