"""A variational autoencoder: the reparameterisation, binary cross entropy as a sum, and the divergence."""

import argparse

import numpy as np

import lucidgrad.torch as torch
import lucidgrad.torch.utils.data
from lucidgrad.torch import nn, optim
from lucidgrad.torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self, pixels=36, hidden=20, latent=4):
        super().__init__()
        self.pixels = pixels
        self.fc1 = nn.Linear(pixels, hidden)
        self.fc21 = nn.Linear(hidden, latent)
        self.fc22 = nn.Linear(hidden, latent)
        self.fc3 = nn.Linear(latent, hidden)
        self.fc4 = nn.Linear(hidden, pixels)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, self.pixels))
        z = self.reparameterize(mu, logvar)
        return self.decode(z), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    BCE = F.binary_cross_entropy(recon_x, x.view(-1, recon_x.size(1)), reduction="sum")
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return BCE + KLD


def main(prepare=lambda model: None, steps=20, argv=()):
    parser = argparse.ArgumentParser(description="VAE")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--no-accel", action="store_true")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    args = parser.parse_args(list(argv))
    args.cuda = not args.no_accel and torch.cuda.is_available()
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if args.cuda else "mps" if torch.backends.mps.is_available() else "cpu")

    rng = np.random.default_rng(2)
    pictures = torch.from_numpy((rng.random((32, 1, 6, 6)) < 0.4).astype(np.float64)).to(torch.get_default_dtype())
    dataset = torch.utils.data.TensorDataset(pictures, torch.zeros(len(pictures), dtype=torch.long))
    kwargs = {"num_workers": 1, "pin_memory": True} if args.cuda else {}
    train_loader = torch.utils.data.DataLoader(dataset, batch_size=args.batch_size, shuffle=False, **kwargs)

    model = VAE().to(device)
    prepare(model)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    history, done = [], 0
    while done < steps:
        model.train()
        train_loss = 0
        for data, _ in train_loader:
            data = data.to(device)
            optimizer.zero_grad()
            recon_batch, mu, logvar = model(data)
            loss = loss_function(recon_batch, data, mu, logvar)
            loss.backward()
            train_loss += loss.item()
            optimizer.step()
            history.append(loss.item() / len(data))
            done += 1
        with torch.no_grad():
            n = min(data.size(0), 4)
            comparison = torch.cat([data[:n], recon_batch.view(args.batch_size, 1, 6, 6)[:n]])
            sample = model.decode(torch.randn(3, 4).to(device)).cpu()
            history += [comparison.mean().item(), sample.view(3, 1, 6, 6).std().item()]
    return history, {"model": model}


if __name__ == "__main__":
    print(main()[0][-1])
