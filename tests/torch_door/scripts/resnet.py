"""A residual network on small pictures: batch norm, downsampling, SGD with Nesterov's momentum, steps of the rate."""

import numpy as np

import lucidgrad.torch as torch
import lucidgrad.torch.backends.cudnn as cudnn
import lucidgrad.torch.nn as nn
import lucidgrad.torch.nn.functional as F
import lucidgrad.torch.optim as optim
from lucidgrad.torch.optim import lr_scheduler
from lucidgrad.torch.utils.data import DataLoader, Dataset


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, in_planes, planes, stride=1):
        super(BasicBlock, self).__init__()  # noqa: UP008
        self.conv1 = nn.Conv2d(in_planes, planes, kernel_size=3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != self.expansion * planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, self.expansion * planes, kernel_size=1, stride=stride, bias=False),
                nn.BatchNorm2d(self.expansion * planes),
            )

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out, inplace=True)


class ResNet(nn.Module):
    def __init__(self, block, num_blocks, num_classes=4, width=4):
        super().__init__()
        self.in_planes = width
        self.conv1 = nn.Conv2d(3, width, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1 = self._make_layer(block, width, num_blocks[0], stride=1)
        self.layer2 = self._make_layer(block, 2 * width, num_blocks[1], stride=2)
        self.linear = nn.Linear(2 * width * block.expansion, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)

    def _make_layer(self, block, planes, num_blocks, stride):
        layers = []
        for stride in [stride] + [1] * (num_blocks - 1):
            layers.append(block(self.in_planes, planes, stride))
            self.in_planes = planes * block.expansion
        return nn.Sequential(*layers)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer2(self.layer1(out))
        out = F.avg_pool2d(out, out.size()[3])
        out = out.view(out.size(0), -1)
        return self.linear(out)


class Pictures(Dataset):
    def __init__(self, n, seed, transform=None):
        rng = np.random.default_rng(seed)
        self.targets = rng.integers(0, 4, n)
        self.data = (rng.random((n, 8, 8, 3)) * 100 + 30 * self.targets[:, None, None, None]).astype(np.uint8)
        self.transform = transform

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        img, target = self.data[index], int(self.targets[index])
        return (self.transform(img) if self.transform is not None else img), target


def to_tensor(img):
    img = torch.from_numpy(img).permute(2, 0, 1).contiguous()
    return img.to(dtype=torch.get_default_dtype()).div(255)


class Normalize:
    def __init__(self, mean, std):
        self.mean, self.std = torch.tensor(mean).view(-1, 1, 1), torch.tensor(std).view(-1, 1, 1)

    def __call__(self, x):
        return x.sub(self.mean).div_(self.std)


def main(prepare=lambda model: None, steps=20, batch_size=8):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    cudnn.benchmark = True
    normalize = Normalize((0.49, 0.48, 0.45), (0.2, 0.2, 0.2))

    def transform(img):
        return normalize(to_tensor(img))

    order = np.random.default_rng(5).permutation(40).tolist()
    trainloader = DataLoader(Pictures(40, 0, transform), batch_size=batch_size, sampler=order, num_workers=0)
    testloader = DataLoader(Pictures(12, 1, transform), batch_size=batch_size, shuffle=False, pin_memory=False)

    net = ResNet(BasicBlock, [1, 1]).to(device)
    net = net.to(memory_format=torch.channels_last)
    prepare(net)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    scheduler = lr_scheduler.MultiStepLR(optimizer, milestones=[2, 3], gamma=0.1)

    history, done, epoch = [], 0, 0
    while done < steps:
        net.train()
        train_loss, correct, total = 0, 0, 0
        for _, (inputs, targets) in enumerate(trainloader):
            inputs, targets = inputs.to(device, memory_format=torch.channels_last), targets.to(device)
            optimizer.zero_grad()
            outputs = net(inputs)
            loss = criterion(outputs, targets)
            loss.backward()
            optimizer.step()
            train_loss += loss.item()
            _, predicted = outputs.max(1)
            total += targets.size(0)
            correct += predicted.eq(targets).sum().item()
            history.append(loss.item())
            done += 1
        scheduler.step()
        history += [train_loss, 100.0 * correct / total, scheduler.get_last_lr()[0]]

        net.eval()
        correct, total = 0, 0
        with torch.no_grad():
            for images, labels in testloader:
                images, labels = images.to(device), labels.to(device)
                outputs = net(images)
                _, predicted = torch.max(outputs.data, 1)
                total += labels.size(0)
                correct += (predicted == labels).sum().item()
        history.append(100 * correct / total)
        epoch += 1
    return history, {"net": net}


if __name__ == "__main__":
    print(main()[0][-1])
