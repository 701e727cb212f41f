"""The classical training program for many pictures: mixed precision, schedulers in sequence, meters, checkpoints."""

import os
import random
import shutil
import tempfile
import time
import warnings
from enum import Enum

import numpy as np

import lucidgrad.torch as torch
import lucidgrad.torch.backends.cudnn as cudnn
import lucidgrad.torch.distributed as dist
import lucidgrad.torch.nn as nn
import lucidgrad.torch.nn.parallel
import lucidgrad.torch.optim
import lucidgrad.torch.utils.data
from lucidgrad.torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from lucidgrad.torch.utils.data import Subset


class Summary(Enum):
    NONE = 0
    AVERAGE = 1


class AverageMeter:
    """The last value of something and its average."""

    def __init__(self, name, fmt=":f", summary_type=Summary.AVERAGE):
        self.name, self.fmt, self.summary_type = name, fmt, summary_type
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def all_reduce(self):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        total = torch.tensor([self.sum, self.count], dtype=torch.float32, device=device)
        self.sum, self.count = total.tolist()

    def __str__(self):
        fmtstr = "{name} {val" + self.fmt + "} ({avg" + self.fmt + "})"
        return fmtstr.format(**self.__dict__)


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        batch_size = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        res = []
        for k in topk:
            correct_k = correct[:k].reshape(-1).float().sum(0, keepdim=True)
            res.append(correct_k.mul_(100.0 / batch_size))
        return res


class Net(nn.Module):
    """A small network of separable convolutions."""

    def __init__(self, num_classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU6(inplace=True),
            nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8, bias=False),
            nn.BatchNorm2d(8),
            nn.Hardswish(),
            nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        )
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.classifier = nn.Sequential(nn.Dropout(p=0.0), nn.Linear(8, num_classes))

    def forward(self, x):
        x = self.features(x)
        x = self.avgpool(x)
        x = torch.flatten(x, 1)
        return self.classifier(x)


def save_checkpoint(state, is_best, folder):
    filename = os.path.join(folder, "checkpoint.pth.tar")
    torch.save(state, filename)
    if is_best:
        shutil.copyfile(filename, os.path.join(folder, "model_best.pth.tar"))


def train(loader, model, criterion, optimizer, scaler, device, use_amp, history):
    batch_time, losses = AverageMeter("Time", ":6.3f"), AverageMeter("Loss", ":.4e")
    top1, top5 = AverageMeter("Acc@1", ":6.2f"), AverageMeter("Acc@5", ":6.2f")
    model.train()
    lower = torch.bfloat16 if device.type == "cpu" or torch.cuda.is_bf16_supported() else torch.float16
    end = time.time()
    for images, target in loader:
        images = images.to(device, non_blocking=True)
        target = target.to(device, non_blocking=True)
        with torch.autocast(device_type=device.type, dtype=lower, enabled=use_amp):
            output = model(images)
            loss = criterion(output, target)
        acc1, acc5 = accuracy(output, target, topk=(1, 5))
        losses.update(loss.item(), images.size(0))
        top1.update(acc1[0].item(), images.size(0))
        top5.update(acc5[0].item(), images.size(0))
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=5.0)
        scaler.step(optimizer)
        scaler.update()
        batch_time.update(time.time() - end)
        end = time.time()
        history.append(loss.item())
    assert "Loss" in str(losses) and "Time" in str(batch_time)
    return top1.avg, top5.avg


def validate(loader, model, criterion, device):
    losses, top1 = AverageMeter("Loss", ":.4e", Summary.NONE), AverageMeter("Acc@1", ":6.2f")
    model.eval()
    with torch.no_grad():
        for images, target in loader:
            if torch.cuda.is_available():
                target = target.cuda(non_blocking=True)
            output = model(images.to(device))
            losses.update(criterion(output, target).item(), images.size(0))
            (acc1,) = accuracy(output, target)
            top1.update(acc1[0].item(), images.size(0))
    top1.all_reduce()
    return losses.avg, top1.avg


class Pictures(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.labels = torch.from_numpy(rng.integers(0, 10, n))
        pictures = rng.standard_normal((n, 3, 10, 10)) + 0.2 * self.labels.numpy()[:, None, None, None]
        self.pictures = torch.as_tensor(pictures, dtype=torch.get_default_dtype())

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.pictures[i], self.labels[i]


def main(prepare=lambda model: None, steps=20, use_amp=False, seed=3):
    if seed is not None:
        random.seed(seed)
        torch.manual_seed(seed)
        cudnn.deterministic = True
        cudnn.benchmark = False
        warnings.filterwarnings("ignore", message="You have chosen to seed training")
    distributed = dist.is_available() and dist.is_initialized()
    if torch.cuda.is_available():
        device = torch.device("cuda:{}".format(torch.cuda.current_device()))
    elif torch.backends.mps.is_available():
        device = torch.device("mps")
    else:
        device = torch.device("cpu")
    if not torch.cuda.is_available():
        assert torch.cuda.device_count() == 0

    model = Net().to(device)
    prepare(model)
    criterion = nn.CrossEntropyLoss().to(device)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
    epochs = max(1, steps // 5)
    scheduler = SequentialLR(
        optimizer,
        schedulers=[LinearLR(optimizer, start_factor=0.1, total_iters=1), CosineAnnealingLR(optimizer, T_max=epochs)],
        milestones=[1],
    )
    scaler = torch.cuda.amp.GradScaler(enabled=use_amp and device.type == "cuda")

    train_sampler = torch.utils.data.distributed.DistributedSampler(Pictures(40, 0)) if distributed else None
    train_loader = torch.utils.data.DataLoader(
        Pictures(40, 0), batch_size=8, shuffle=False, num_workers=0, pin_memory=False, sampler=train_sampler
    )
    val_loader = torch.utils.data.DataLoader(Subset(Pictures(20, 1), range(16)), batch_size=8, shuffle=False)

    history, best_acc1 = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(epochs):
            acc1, acc5 = train(train_loader, model, criterion, optimizer, scaler, device, use_amp, history)
            loss, val_acc1 = validate(val_loader, model, criterion, device)
            scheduler.step()
            is_best = val_acc1 > best_acc1
            best_acc1 = max(val_acc1, best_acc1)
            state = {
                "epoch": epoch + 1,
                "arch": "net",
                "state_dict": model.state_dict(),
                "best_acc1": best_acc1,
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
                "scaler": scaler.state_dict(),
            }
            save_checkpoint(state, is_best, folder)
            history += [acc1, acc5, loss, val_acc1, scheduler.get_last_lr()[0]]

            # go on as after a stop: everything is made anew and filled from the file
            checkpoint = torch.load(os.path.join(folder, "checkpoint.pth.tar"), map_location=device, weights_only=True)
            assert checkpoint["epoch"] == epoch + 1
            model = Net().to(device)
            model.load_state_dict(checkpoint["state_dict"])
            optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
            scheduler = SequentialLR(
                optimizer,
                schedulers=[LinearLR(optimizer, start_factor=0.1, total_iters=1), CosineAnnealingLR(optimizer, epochs)],
                milestones=[1],
            )
            optimizer.load_state_dict(checkpoint["optimizer"])
            scheduler.load_state_dict(checkpoint["scheduler"])
            scaler.load_state_dict(checkpoint["scaler"])
    return history, {"model": model}


if __name__ == "__main__":
    print(main()[0][-1])
