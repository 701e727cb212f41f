"""Deep Q-learning on a small swinging system: replay memory, a target network, epsilon-greedy actions."""

import math
import random
from collections import deque, namedtuple
from itertools import count

import numpy as np

import lucidgrad.torch as torch
import lucidgrad.torch.nn as nn
import lucidgrad.torch.nn.functional as F
import lucidgrad.torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class Pole:
    """A pole on a point that pushes left or right."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.state = self.rng.uniform(-0.05, 0.05, 4)
        return self.state.copy(), {}

    def step(self, action):
        x, v, angle, spin = self.state
        push = 10.0 if action == 1 else -10.0
        pull = 9.8 * math.sin(angle) - push * math.cos(angle)
        self.state = np.array([x + 0.02 * v, v + 0.02 * push, angle + 0.02 * spin, spin + 0.02 * pull])
        terminated = bool(abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21)
        return self.state.copy(), 1.0, terminated, False, {}


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super().__init__()
        self.layer1 = nn.Linear(n_observations, 16)
        self.layer2 = nn.Linear(16, 16)
        self.layer3 = nn.Linear(16, n_actions)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


def main(prepare=lambda model: None, steps=20, batch_size=8, gamma=0.99, tau=0.05):
    random.seed(7)
    dtype = torch.get_default_dtype()
    device = torch.device(
        "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    )
    env = Pole(0)
    policy_net = DQN(4, 2).to(device)
    prepare(policy_net)
    target_net = DQN(4, 2).to(device)
    target_net.load_state_dict(policy_net.state_dict())
    target_net.eval()
    optimizer = optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
    memory = ReplayMemory(100)
    steps_done = 0

    def select_action(state):
        nonlocal steps_done
        eps = 0.05 + 0.85 * math.exp(-1.0 * steps_done / 50)
        steps_done += 1
        if random.random() > eps:
            with torch.no_grad():
                return policy_net(state).max(1).indices.view(1, 1)
        return torch.tensor([[random.randrange(2)]], device=device, dtype=torch.long)

    history = []

    def optimize_model():
        if len(memory) < batch_size:
            return
        batch = Transition(*zip(*memory.sample(batch_size)))
        non_final_mask = torch.tensor(tuple(s is not None for s in batch.next_state), device=device, dtype=torch.bool)
        non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
        state_batch = torch.cat(batch.state)
        action_batch = torch.cat(batch.action)
        reward_batch = torch.cat(batch.reward)

        state_action_values = policy_net(state_batch).gather(1, action_batch)
        next_state_values = torch.zeros(batch_size, device=device)
        with torch.no_grad():
            next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
        expected = (next_state_values * gamma) + reward_batch

        loss = F.smooth_l1_loss(state_action_values, expected.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        for param in policy_net.parameters():
            param.grad.data.clamp_(-1, 1)
        torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
        optimizer.step()
        history.append(loss.item())

    episode_durations = []
    while len(history) < steps:
        state, _ = env.reset()
        state = torch.tensor(state, dtype=dtype, device=device).unsqueeze(0)
        for t in count():
            action = select_action(state)
            observation, reward, terminated, truncated, _ = env.step(action.item())
            reward = torch.tensor([reward], device=device)
            next_state = None if terminated else torch.tensor(observation, dtype=dtype, device=device).unsqueeze(0)
            memory.push(state, action, next_state, reward)
            state = next_state
            optimize_model()
            target_state, policy_state = target_net.state_dict(), policy_net.state_dict()
            for key in policy_state:
                target_state[key] = policy_state[key] * tau + target_state[key] * (1 - tau)
            target_net.load_state_dict(target_state)
            if terminated or truncated or len(history) >= steps:
                episode_durations.append(t + 1)
                break
    durations = torch.tensor(episode_durations, dtype=torch.float)
    history.append(durations.unfold(0, 2, 1).mean(1).view(-1).sum().item() if len(durations) > 1 else durations.item())
    return history, {"policy_net": policy_net, "target_net": target_net}


if __name__ == "__main__":
    print(main()[0][-1])
