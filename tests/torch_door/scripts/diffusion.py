"""A denoising diffusion model: schedules of noise, a small U-net with times, an average of the weights, DDIM."""

import copy
import math
from functools import partial
from inspect import isfunction

import numpy as np

import lucidgrad.torch as torch
import lucidgrad.torch.nn.functional as F
from lucidgrad.torch import einsum, nn


def exists(x):
    return x is not None


def default(val, d):
    if exists(val):
        return val
    return d() if isfunction(d) else d


def cosine_beta_schedule(timesteps, s=0.008):
    x = torch.linspace(0, timesteps, timesteps + 1, dtype=torch.float64)
    alphas_cumprod = torch.cos(((x / timesteps) + s) / (1 + s) * math.pi * 0.5) ** 2
    alphas_cumprod = alphas_cumprod / alphas_cumprod[0]
    betas = 1 - (alphas_cumprod[1:] / alphas_cumprod[:-1])
    return torch.clip(betas, 0.0001, 0.9999)


def extract(a, t, x_shape):
    b, *_ = t.shape
    out = a.gather(-1, t)
    return out.reshape(b, *((1,) * (len(x_shape) - 1)))


class SinusoidalPositionEmbeddings(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, time):
        device = time.device
        half_dim = self.dim // 2
        embeddings = math.log(10000) / (half_dim - 1)
        embeddings = torch.exp(torch.arange(half_dim, device=device) * -embeddings)
        embeddings = time[:, None] * embeddings[None, :]
        return torch.cat((embeddings.sin(), embeddings.cos()), dim=-1)


class Block(nn.Module):
    def __init__(self, dim, dim_out, time_dim, groups=2):
        super().__init__()
        self.proj = nn.Conv2d(dim, dim_out, 3, padding=1)
        self.norm = nn.GroupNorm(groups, dim_out)
        self.act = nn.SiLU()
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(time_dim, dim_out * 2)) if exists(time_dim) else None
        self.res_conv = nn.Conv2d(dim, dim_out, 1) if dim != dim_out else nn.Identity()

    def forward(self, x, time_emb=None):
        h = self.norm(self.proj(x))
        if exists(self.mlp) and exists(time_emb):
            scale, shift = self.mlp(time_emb)[:, :, None, None].chunk(2, dim=1)
            h = h * (scale + 1) + shift
        return self.act(h) + self.res_conv(x)


class Attention(nn.Module):
    def __init__(self, dim, heads=2, dim_head=4):
        super().__init__()
        self.scale, self.heads = dim_head**-0.5, heads
        self.to_qkv = nn.Conv2d(dim, dim_head * heads * 3, 1, bias=False)
        self.to_out = nn.Conv2d(dim_head * heads, dim, 1)

    def forward(self, x):
        b, _, h, w = x.shape
        q, k, v = (t.reshape(b, self.heads, -1, h * w) for t in self.to_qkv(x).chunk(3, dim=1))
        sim = einsum("b h d i, b h d j -> b h i j", q * self.scale, k)
        sim = sim - sim.amax(dim=-1, keepdim=True).detach()
        out = einsum("b h i j, b h d j -> b h i d", sim.softmax(dim=-1), v)
        return self.to_out(out.permute(0, 1, 3, 2).reshape(b, -1, h, w)) + x


class Unet(nn.Module):
    def __init__(self, dim=4, channels=1, dim_mults=(1, 2)):
        super().__init__()
        time_dim = dim * 4
        self.init_conv = nn.Conv2d(channels, dim, 3, padding=1)
        dims = [dim, *(dim * m for m in dim_mults)]
        block = partial(Block, time_dim=time_dim)
        self.time_mlp = nn.Sequential(
            SinusoidalPositionEmbeddings(dim), nn.Linear(dim, time_dim), nn.GELU(), nn.Linear(time_dim, time_dim)
        )
        self.downs, self.ups = nn.ModuleList([]), nn.ModuleList([])
        for a, b in zip(dims[:-1], dims[1:]):
            self.downs.append(nn.ModuleList([block(a, b), nn.Conv2d(b, b, 4, 2, 1)]))
        self.mid = nn.ModuleList([block(dims[-1], dims[-1]), Attention(dims[-1])])
        for a, b in reversed(list(zip(dims[:-1], dims[1:]))):
            up = nn.Sequential(nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(b, b, 3, padding=1))
            self.ups.append(nn.ModuleList([up, block(2 * b, a)]))
        self.final_conv = nn.Conv2d(dim, channels, 1)

    def forward(self, x, time):
        x = self.init_conv(x)
        t = self.time_mlp(time)
        h = []
        for block, down in self.downs:
            x = block(x, t)
            h.append(x)
            x = down(x)
        block, attn = self.mid
        x = attn(block(x, t))
        for up, block in self.ups:
            x = block(torch.cat((up(x), h.pop()), dim=1), t)
        return self.final_conv(x)


class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.ema_model = copy.deepcopy(model).eval()
        self.ema_model.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        current = model.state_dict()
        for name, value in self.ema_model.state_dict().items():
            if value.dtype.is_floating_point:
                value.mul_(self.decay).add_(current[name].detach(), alpha=1 - self.decay)


class GaussianDiffusion(nn.Module):
    def __init__(self, timesteps=12):
        super().__init__()
        betas = cosine_beta_schedule(timesteps)
        alphas = 1.0 - betas
        alphas_cumprod = torch.cumprod(alphas, dim=0)
        prev = F.pad(alphas_cumprod[:-1], (1, 0), value=1.0)
        self.num_timesteps = int(betas.shape[0])

        def register(name, val):
            self.register_buffer(name, val.to(torch.get_default_dtype()))

        register("alphas_cumprod", alphas_cumprod)
        register("sqrt_alphas_cumprod", torch.sqrt(alphas_cumprod))
        register("sqrt_one_minus_alphas_cumprod", torch.sqrt(1.0 - alphas_cumprod))
        register("posterior_variance", betas * (1.0 - prev) / (1.0 - alphas_cumprod))

    def q_sample(self, x_start, t, noise=None):
        noise = default(noise, lambda: torch.randn_like(x_start))
        scale = extract(self.sqrt_alphas_cumprod, t, x_start.shape)
        return scale * x_start + extract(self.sqrt_one_minus_alphas_cumprod, t, x_start.shape) * noise

    def p_losses(self, model, x_start, t, noise=None, loss_type="huber"):
        noise = default(noise, lambda: torch.randn_like(x_start))
        predicted = model(self.q_sample(x_start=x_start, t=t, noise=noise), t)
        if loss_type == "huber":
            return F.smooth_l1_loss(noise, predicted)
        return F.mse_loss(noise, predicted)

    @torch.inference_mode()
    def ddim_sample(self, model, shape, sampling_timesteps=3, eta=0.5, device="cpu"):
        times = torch.linspace(-1, self.num_timesteps - 1, steps=sampling_timesteps + 1)
        times = list(reversed(times.int().tolist()))
        img = torch.randn(shape, device=device)
        for time, time_next in zip(times[:-1], times[1:]):
            time_cond = torch.full((shape[0],), time, device=device, dtype=torch.long)
            pred_noise = model(img, time_cond)
            alpha = self.alphas_cumprod[time]
            x_start = (img - (1 - alpha).sqrt() * pred_noise) / alpha.sqrt()
            x_start.clamp_(-1.0, 1.0)
            if time_next < 0:
                img = x_start
                continue
            alpha_next = self.alphas_cumprod[time_next]
            sigma = eta * ((1 - alpha / alpha_next) * (1 - alpha_next) / (1 - alpha)).sqrt()
            c = (1 - alpha_next - sigma**2).sqrt()
            img = x_start * alpha_next.sqrt() + c * pred_noise + sigma * torch.randn_like(img)
        return (img + 1) * 0.5


def main(prepare=lambda model: None, steps=20, batch_size=3):
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, diffusion = Unet().to(device), GaussianDiffusion().to(device)
    prepare(model)
    ema = EMA(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.99))
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))
    rng = np.random.default_rng(9)
    history = []
    for _ in range(steps):
        batch = torch.from_numpy(np.tanh(rng.standard_normal((batch_size, 1, 8, 8)))).to(torch.get_default_dtype())
        batch = batch.to(device)
        t = torch.randint(0, diffusion.num_timesteps, (batch_size,), device=device).long()
        loss = diffusion.p_losses(model, batch, t)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        ema.update(model)
        history.append(loss.item())
    img = diffusion.ddim_sample(ema.ema_model, shape=(2, 1, 8, 8), device=device)
    history += [img.mean().item(), img.std().item(), img.min().item(), img.max().item()]
    return history, {"model": model, "ema": ema.ema_model}


if __name__ == "__main__":
    print(main()[0][-1])
