"""Graph networks by hand: convolution with index_add, attention with scatter_reduce, pooling with scatter_add."""

import numpy as np

import lucidgrad.torch as torch
import lucidgrad.torch.nn.functional as F
from lucidgrad.torch import Tensor, nn
from lucidgrad.torch.nn import Linear, Parameter


def add_self_loops(edge_index: Tensor, num_nodes: int) -> Tensor:
    loop = torch.arange(num_nodes, dtype=torch.long, device=edge_index.device).unsqueeze(0).repeat(2, 1)
    return torch.cat([edge_index, loop], dim=1)


def degree(index: Tensor, num_nodes: int, dtype=None) -> Tensor:
    out = torch.zeros((num_nodes,), dtype=dtype, device=index.device)
    return out.scatter_add_(0, index, out.new_ones(index.size(0)))


def softmax(src: Tensor, index: Tensor, num_nodes: int) -> Tensor:
    at = index.view(-1, 1).expand_as(src)
    highest = torch.full((num_nodes, src.size(1)), float("-inf"), dtype=src.dtype, device=src.device)
    highest = highest.scatter_reduce(0, at, src.detach(), reduce="amax", include_self=False)
    out = (src - highest.index_select(0, index)).exp()
    total = src.new_zeros(num_nodes, src.size(1)).scatter_add(0, at, out) + 1e-16
    return out / total[index]


class GCNConv(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.lin = Linear(in_channels, out_channels, bias=False)
        self.bias = Parameter(torch.empty(out_channels))
        self.reset_parameters()

    def reset_parameters(self):
        self.lin.reset_parameters()
        self.bias.data.zero_()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        edge_index = add_self_loops(edge_index, num_nodes=x.size(0))
        row, col = edge_index
        deg_inv_sqrt = degree(col, x.size(0), dtype=x.dtype).pow(-0.5)
        deg_inv_sqrt[deg_inv_sqrt == float("inf")] = 0
        norm = deg_inv_sqrt[row] * deg_inv_sqrt[col]
        message = norm.view(-1, 1) * self.lin(x)[row]
        out = torch.zeros(x.size(0), message.size(1), dtype=x.dtype, device=x.device)
        return out.index_add_(0, col, message) + self.bias


class GATConv(nn.Module):
    def __init__(self, in_channels, out_channels, heads=2, negative_slope=0.2):
        super().__init__()
        self.heads, self.out_channels, self.negative_slope = heads, out_channels, negative_slope
        self.lin = Linear(in_channels, heads * out_channels, bias=False)
        self.att_src = Parameter(torch.Tensor(1, heads, out_channels))
        self.att_dst = Parameter(torch.Tensor(1, heads, out_channels))
        nn.init.xavier_uniform_(self.att_src)
        nn.init.xavier_uniform_(self.att_dst)

    def forward(self, x, edge_index):
        row, col = add_self_loops(edge_index, x.size(0)).unbind(0)
        h = self.lin(x).view(-1, self.heads, self.out_channels)
        alpha = (h * self.att_src).sum(-1)[row] + (h * self.att_dst).sum(dim=-1)[col]
        alpha = softmax(F.leaky_relu(alpha, self.negative_slope), col, x.size(0))
        message = alpha.unsqueeze(-1) * h[row]
        at = col.view(-1, 1, 1).expand(-1, self.heads, self.out_channels)
        out = torch.zeros_like(h).scatter_add_(0, at, message)
        return out.flatten(1)


class Net(nn.Module):
    def __init__(self, features, classes, hidden=8):
        super().__init__()
        self.conv1 = GCNConv(features, hidden)
        self.conv2 = GATConv(hidden, hidden // 2)
        self.lin = Linear(3 * hidden, classes)

    def forward(self, x, edge_index, batch):
        x = self.conv1(x, edge_index).relu()
        x = F.elu(self.conv2(x, edge_index))
        graphs = int(batch.max()) + 1
        at = batch.unsqueeze(-1).expand(-1, x.size(-1))
        total = x.new_zeros(graphs, x.size(-1)).scatter_add_(0, at, x)
        mean = total / torch.bincount(batch, minlength=graphs).clamp(min=1).unsqueeze(-1)
        top = x.new_zeros(graphs, x.size(-1)).scatter_reduce_(0, at, x, reduce="amax", include_self=False)
        x = torch.cat([total, mean, top], dim=-1)
        return F.log_softmax(self.lin(F.dropout(x, p=0.5, training=False)), dim=-1)


def main(prepare=lambda model: None, steps=20):
    rng = np.random.default_rng(8)
    n, graphs = 24, 6
    x = torch.from_numpy(rng.standard_normal((n, 5))).to(torch.get_default_dtype())
    batch = torch.from_numpy(np.arange(n) // 4)
    edges = torch.tensor(rng.integers(0, 4, (2, 40)) + 4 * rng.integers(0, graphs, 40), dtype=torch.long)
    edge_index = torch.stack([edges[0], edges[1]], dim=0).contiguous()
    y = torch.from_numpy(rng.integers(0, 3, graphs))
    train_mask = torch.zeros(graphs, dtype=torch.bool)
    train_mask[:4] = True

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x, edge_index, batch, y, train_mask = (t.to(device) for t in (x, edge_index, batch, y, train_mask))
    model = Net(5, 3).to(device)
    prepare(model)
    optimizer = torch.optim.Adam(
        [dict(params=model.conv1.parameters(), weight_decay=5e-4), dict(params=model.lin.parameters())], lr=0.01
    )
    optimizer.add_param_group({"params": list(model.conv2.parameters()), "lr": 0.005})

    history, best_val_acc = [], 0
    for _ in range(steps):
        model.train()
        optimizer.zero_grad()
        out = model(x, edge_index, batch)
        loss = F.nll_loss(out[train_mask], y[train_mask])
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            pred = model(x, edge_index, batch).argmax(dim=-1)
            accs = [int((pred[mask] == y[mask]).sum()) / int(mask.sum()) for mask in (train_mask, ~train_mask)]
        best_val_acc = max(best_val_acc, accs[1])
        history += [float(loss), *accs]
    return [*history, best_val_acc], {"model": model}


if __name__ == "__main__":
    print(main()[0][-1])
