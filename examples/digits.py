"""Handwritten digits
==================

Train a small convolutional network on handwritten digits, then prove its gradients.

Uses scikit-learn's bundled images (1,797 of 8 × 8 pixels). Prints a table, saves a checkpoint that can be resumed and a
picture, and compares the gradients of the network that it trained with finite differences. Exits with an error if
fewer than 98 % of the images that were held back are recognised, or a derivative is wrong.
"""

import math
import sys
import time

from running import arguments, picture, repeated
from tqdm import tqdm

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.utils.data import DataLoader, TensorDataset, random_split

GOAL = 0.98
BATCH = 64


def images(device):
    """Return the images, from 0 to 1, and which digits they show."""
    from sklearn.datasets import load_digits

    found = load_digits()
    x = lg.tensor(found.images, dtype=lg.float32).unsqueeze(1) / 16
    return x.to(device), lg.tensor(found.target).to(device)


def make_network():
    """Return two convolutions and two linear layers, about 20,000 parameters."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.25),
        nn.Linear(32 * 4 * 4, 32),
        nn.ReLU(),
        nn.Linear(32, 10),
    )


def train(network, loader, epochs, steps, options):
    """Train with AdamW and a one-cycle rate; return the losses, the optimiser and its scheduler."""
    optimizer = lg.optim.AdamW(network.parameters(), lr=0.01, weight_decay=0.01)
    total = min(steps, epochs * len(loader))
    scheduler = lg.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=total)
    losses = []
    network.train()

    def step(x, digits):
        loss = nn.functional.cross_entropy(network(x), digits)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        return loss.detach()

    step = repeated(options, step)
    with tqdm(total=total, unit="step", disable=not sys.stderr.isatty()) as bar:
        while len(losses) < total:
            for x, digits in loader:
                losses.append(step(x, digits).item())
                bar.update()
                bar.set_postfix(loss=f"{losses[-1]:.3f}")
                if len(losses) == total:
                    break
    return losses, optimizer, scheduler


def recognise(network, x):
    """Return the digits that the network sees."""
    network.eval()
    with lg.no_grad():
        return network(x).argmax(dim=1)


def prove(network, x, digits):
    """Compare the gradients of the loss with finite differences, in float64; return whether all agree."""
    network = network.double().eval()
    names, values = zip(*((name, p.detach().clone()) for name, p in network.named_parameters()))
    x = x.double()

    def loss(*parameters):
        out = lg.func.functional_call(network, dict(zip(names, parameters)), (x,))
        return nn.functional.cross_entropy(out, digits)

    inputs = [p.requires_grad_() for p in values]
    checked = lg.autograd.gradcheck(loss, inputs, fast_mode=True)
    print(f"\ngradcheck of the trained network, {sum(p.numel() for p in inputs):,} parameters: {checked}")
    print(f"{'parameter':<12}{'entry':>8}{'analytic':>16}{'numeric':>16}{'difference':>12}")
    gradients = lg.autograd.grad(loss(*inputs), inputs)
    for k in range(0, len(inputs), 2):
        entry = int(gradients[k].abs().flatten().argmax())
        h = 1e-6 * max(1.0, abs(values[k].detach().flatten()[entry].item()))
        sides = []
        with lg.no_grad():
            for step in (h, -h):
                moved = [p.detach().clone() for p in inputs]
                moved[k].view(-1)[entry] += step
                sides.append(loss(*moved).item())
        analytic, numeric = gradients[k].flatten()[entry].item(), (sides[0] - sides[1]) / (2 * h)
        error = abs(analytic - numeric)
        print(f"{names[k]:<12}{entry:>8}{analytic:>16.10f}{numeric:>16.10f}{error:>12.1e}")
        checked &= error <= 1e-8 + 1e-5 * abs(numeric)
    return checked


def draw(path, losses, x, digits, seen):
    """Draw the losses, and images with what was seen in them."""
    with picture(path, columns=2, size=(5.5, 4.0)) as axes:
        if axes is None:
            return
        left, right = axes
        left.semilogy(losses, linewidth=0.8)
        left.set(title="training", xlabel="step", ylabel="cross-entropy")
        wrong = [i for i in range(len(seen)) if seen[i] != digits[i]]
        shown = (wrong + [i for i in range(len(seen)) if seen[i] == digits[i]])[:24]
        framed = nn.functional.pad(x[:, 0].cpu(), (2, 2, 2, 2))
        rows = [lg.concat([framed[i] for i in shown[k : k + 6]], axis=1) for k in range(0, 24, 6)]
        right.imshow(lg.concat(rows, axis=0).numpy(), cmap="gray_r")
        for place, i in enumerate(shown):
            colour = "tab:green" if seen[i] == digits[i] else "tab:red"
            right.text(12 * (place % 6), 12 * (place // 6) + 2, str(seen[i]), color=colour, fontsize=9)
        right.set(title="unseen images, errors first", xticks=[], yticks=[])


def main():
    """Train, report, prove; return the exit status."""
    options = arguments(__doc__, epochs=15)
    start = time.perf_counter()
    x, digits = images(options.device)
    count = len(x) // 5
    training, unseen = random_split(TensorDataset(x, digits), [len(x) - count, count])
    loader = DataLoader(training, batch_size=BATCH, shuffle=True, drop_last=True)
    network = make_network().to(options.device)
    size = sum(p.numel() for p in network.parameters())
    print(f"{len(training)} images of digits, a network with {size:,} parameters, on {options.device}")

    losses, optimizer, scheduler = train(network, loader, options.epochs, 3 if options.quick else math.inf, options)
    x_unseen, y_unseen = next(iter(DataLoader(unseen, batch_size=count)))
    seen = recognise(network, x_unseen)
    accuracy = (seen == y_unseen).to(lg.float32).mean().item()
    seconds = time.perf_counter() - start

    checkpoint = options.out / "digits.safetensors"
    lg.utils.save_checkpoint(checkpoint, model=network, optimizer=optimizer, scheduler=scheduler, step=len(losses))
    print(f"\n{'digit':>6}{'images':>8}{'recognised':>12}")
    expected, found = y_unseen.cpu().tolist(), seen.cpu().tolist()
    for digit in range(10):
        own = [f == digit for e, f in zip(expected, found) if e == digit]
        print(f"{digit:>6}{len(own):>8}{sum(own) / max(len(own), 1):>12.1%}")
    print(f"{'all':>6}{len(expected):>8}{accuracy:>12.1%}   ({seconds:.0f} s, last loss {losses[-1]:.4f})")
    print(f"checkpoint: {checkpoint}")
    draw(options.out / "digits.png", losses, x_unseen, expected, found)

    checked = prove(network, x_unseen[:8], y_unseen[:8])
    if not checked:
        print("the gradients disagree with finite differences", file=sys.stderr)
        return 1
    if accuracy < GOAL and not options.quick:
        print(f"fewer than {GOAL:.0%} were recognised", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
