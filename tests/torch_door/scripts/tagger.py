"""An LSTM that tags words of sentences of different lengths: packed sequences, a collating function, masks."""

import numpy as np

import lucidgrad.torch as torch
import lucidgrad.torch.nn as nn
from lucidgrad.torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from lucidgrad.torch.utils.data import DataLoader, Dataset

PAD = 0


class Sentences(Dataset):
    def __init__(self, n, words, tags, seed=0):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(2, 8, n)
        self.items = []
        for length in lengths:
            words_of = rng.integers(1, words, length)
            self.items.append((words_of.tolist(), ((words_of + np.roll(words_of, 1)) % tags).tolist()))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        words, tags = self.items[i]
        return torch.LongTensor(words), torch.LongTensor(tags)


def collate(batch):
    batch.sort(key=lambda pair: len(pair[0]), reverse=True)
    words, tags = zip(*batch)
    lengths = torch.tensor([len(w) for w in words])
    return pad_sequence(words, batch_first=True, padding_value=PAD), pad_sequence(tags, True, -100), lengths


class Tagger(nn.Module):
    def __init__(self, vocabulary, tags, embedding_dim=6, hidden_dim=8):
        super().__init__()
        self.hidden_dim = hidden_dim
        self.embed = nn.Embedding(vocabulary, embedding_dim, padding_idx=PAD)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim // 2, num_layers=2, bidirectional=True, batch_first=True)
        self.hidden2tag = nn.Linear(hidden_dim, tags)

    def init_hidden(self, batch):
        weight = next(self.parameters()).data
        return (weight.new(4, batch, self.hidden_dim // 2).zero_(), weight.new_zeros(4, batch, self.hidden_dim // 2))

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.embed(x), lengths.cpu(), batch_first=True)
        self.lstm.flatten_parameters()
        out, (h, c) = self.lstm(packed, self.init_hidden(x.size(0)))
        out, _ = pad_packed_sequence(out, batch_first=True, total_length=x.size(1))
        return self.hidden2tag(out), h


def main(prepare=lambda model: None, steps=20):
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(Sentences(20, 15, 4), batch_size=5, collate_fn=collate, drop_last=True)
    model = Tagger(15, 4).to(device)
    prepare(model)
    loss_function = nn.CrossEntropyLoss(ignore_index=-100)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-2, alpha=0.9, centered=True)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=0)

    history, done = [], 0
    while done < steps:
        epoch_loss = 0.0
        for x, y, lengths in loader:
            model.zero_grad()
            x, y = x.to(device), y.to(device)
            scores, h = model(x, lengths)
            loss = loss_function(scores.transpose(1, 2), y) + 1e-3 * h.pow(2).sum()
            loss.backward()
            torch.nn.utils.clip_grad_value_(model.parameters(), 0.5)
            optimizer.step()
            epoch_loss += float(loss)
            history.append(loss.item())
            done += 1
        scheduler.step(epoch_loss)
        with torch.no_grad():
            scores, _ = model(x, lengths)
            mask = y != -100
            hits = (scores.argmax(-1) == y)[mask].float().mean()
        history += [hits.item(), optimizer.param_groups[0]["lr"]]
    return history, {"model": model}


if __name__ == "__main__":
    print(main()[0][-1])
