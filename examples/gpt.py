"""A character-level GPT
=====================

A character-level GPT, trained on the documentation of this repository.

A decoder of causal self-attention blocks learns to continue the text of README.md and the files in docs/. Prints what
it makes up, and compares its loss with that of guessing characters by their frequency.
"""

import math
import sys

from running import ROOT, arguments, finish, picture, repeated
from tqdm import tqdm

import lucidgrad as lg
from lucidgrad import nn
from lucidgrad.nn import functional as F

CONTEXT, WIDTH, HEADS, BLOCKS, BATCH = 64, 64, 4, 2, 16


class Block(nn.Module):
    """Causal self-attention and a feed-forward network, each added to what goes past."""

    def __init__(self):
        super().__init__()
        self.before_attention, self.before_mixing = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.split, self.join = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mix = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        n, length, _ = x.shape
        parts = self.split(self.before_attention(x)).reshape(n, length, 3, HEADS, WIDTH // HEADS)
        q, k, v = lg.unstack(lg.permute_dims(parts, (2, 0, 3, 1, 4)))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.join(lg.permute_dims(seen, (0, 2, 1, 3)).reshape(n, length, WIDTH))
        return x + self.mix(self.before_mixing(x))


class GPT(nn.Module):
    """Scores of the next character, for every place of a text."""

    def __init__(self, characters):
        super().__init__()
        self.tokens, self.places = nn.Embedding(characters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, characters)
        for embedding in (self.tokens, self.places):
            nn.init.normal_(embedding.weight, std=0.1)

    def forward(self, tokens):
        places = lg.arange(tokens.shape[1], device=tokens.device)
        x = self.tokens(tokens) + self.places(places)
        return self.head(self.norm(self.blocks(x)))


def load(device):
    """Return the text as numbers, and the characters that they stand for."""
    root = ROOT
    files = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    characters = sorted({c for c in set(text) if text.count(c) >= 20} | {"?"})
    number = {c: k for k, c in enumerate(characters)}
    return lg.tensor([number.get(c, number["?"]) for c in text], device=device), characters


def batch(text, count=BATCH):
    """Return stretches of the text, and the same one character later."""
    starts = lg.randint(0, len(text) - CONTEXT - 1, (count, 1), device=text.device)
    stretch = text[starts + lg.arange(CONTEXT + 1, device=text.device)]
    return stretch[:, :-1], stretch[:, 1:]


def loss_of(network, x, y):
    """Return the mean cross-entropy per character."""
    scores = network(x)
    return F.cross_entropy(scores.reshape(-1, scores.shape[-1]), y.reshape(-1))


def continued(network, start, count):
    """Return a text with more characters drawn one by one."""
    tokens = start
    with lg.no_grad():
        for _ in range(count):
            scores = network(tokens[:, -CONTEXT:])[:, -1] / 0.7
            following = lg.multinomial(lg.softmax(scores, axis=-1), 1)
            tokens = lg.concat([tokens, following], axis=1)
    return tokens


def main():
    """Train, let it write; return the exit status."""
    options = arguments(__doc__, steps=400)
    text, characters = load(options.device)
    split = len(text) * 9 // 10
    training, unseen = text[:split], text[split:]
    counts = lg.bincount(training, minlength=len(characters)).to(lg.float64) + 1
    guess = -(lg.log(counts / counts.sum())[unseen]).mean().item()
    network = GPT(len(characters)).to(options.device)
    size = sum(p.numel() for p in network.parameters())
    print(f"{len(text):,} characters, {len(characters)} different ones; {size:,} parameters on {options.device}")

    optimizer = lg.optim.AdamW(network.parameters(), lr=8e-3, weight_decay=0.05)
    steps = 2 if options.quick else options.steps
    scheduler = lg.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=8e-3, total_steps=steps)
    losses = []

    def step(x, y):
        loss = loss_of(network, x, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        return loss.detach()

    step = repeated(options, step)
    for _ in tqdm(range(steps), disable=not sys.stderr.isatty()):
        losses.append(step(*batch(training)).item())
    with lg.no_grad():
        final = sum(loss_of(network, *batch(unseen, 32)).item() for _ in range(1 if options.quick else 8))
        final /= 1 if options.quick else 8
    written = continued(network, training[:1].reshape(1, 1), 10 if options.quick else 240)
    print("it writes:\n" + "".join(characters[k] for k in written[0].tolist()))
    print(f"\nunseen text: {final:.3f} nats per character ({final / math.log(2):.2f} bits); by frequency {guess:.3f}")
    with picture(options.out / "gpt.png") as axes:
        if axes is not None:
            axes.plot(losses, linewidth=0.8)
            axes.axhline(guess, color="0.5", linestyle=":", label="by frequency")
            axes.set(title="character-level GPT", xlabel="step", ylabel="nats per character")
            axes.legend()
    return finish(options, ("unseen text, share of guessing by frequency", final / guess, 0.75))


if __name__ == "__main__":
    sys.exit(main())
