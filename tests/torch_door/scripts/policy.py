"""REINFORCE with a categorical policy, then a clipped (PPO) update of a normal one with a critic."""

import numpy as np

import lucidgrad.torch as torch
import lucidgrad.torch.nn as nn
import lucidgrad.torch.nn.functional as F
import lucidgrad.torch.optim as optim
from lucidgrad.torch.distributions import Categorical, Normal


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 12)
        self.dropout = nn.Dropout(p=0.0)
        self.affine2 = nn.Linear(12, 3)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=1)


def select_action(policy, state):
    state = torch.from_numpy(state).to(torch.get_default_dtype()).unsqueeze(0)
    m = Categorical(policy(state))
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode(policy, optimizer, gamma=0.99, eps=1e-8):
    R, policy_loss, returns = 0, [], []
    for r in policy.rewards[::-1]:
        R = r + gamma * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps)
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return policy_loss.item()


def layer_init(layer, std=np.sqrt(2), bias_const=0.0):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, bias_const)
    return layer


class Agent(nn.Module):
    def __init__(self, obs=3, act=2):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(obs, 10)), nn.Tanh(), layer_init(nn.Linear(10, 1), std=1.0))
        self.actor_mean = nn.Sequential(layer_init(nn.Linear(obs, 10)), nn.Tanh(), layer_init(nn.Linear(10, act), 0.01))
        self.actor_logstd = nn.Parameter(torch.zeros(1, act))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        action_mean = self.actor_mean(x)
        action_std = torch.exp(self.actor_logstd.expand_as(action_mean))
        probs = Normal(action_mean, action_std)
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action).sum(1), probs.entropy().sum(1), self.critic(x)


def ppo(prepare, updates, num_steps=6, num_envs=2, epochs=2, minibatch=4, clip_coef=0.2, vf_coef=0.5, ent_coef=0.01):
    device = torch.device("cpu")
    agent = Agent().to(device)
    prepare(agent)
    optimizer = optim.Adam(agent.parameters(), lr=3e-3, eps=1e-5)
    rng = np.random.default_rng(11)
    obs = torch.zeros((num_steps, num_envs, 3)).to(device)
    actions = torch.zeros((num_steps, num_envs, 2)).to(device)
    logprobs, rewards, dones, values = (torch.zeros((num_steps, num_envs)).to(device) for _ in range(4))
    next_obs = torch.Tensor(rng.standard_normal((num_envs, 3))).to(device)
    next_done = torch.zeros(num_envs).to(device)
    history = []
    for update in range(updates):
        optimizer.param_groups[0]["lr"] = (1.0 - update / updates) * 3e-3
        for step in range(num_steps):
            obs[step], dones[step] = next_obs, next_done
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
                values[step] = value.flatten()
            actions[step], logprobs[step] = action, logprob
            played = action.cpu().numpy()
            reward = -np.square(played).sum(-1)
            rewards[step] = torch.tensor(reward).to(device).view(-1)
            next_obs = torch.Tensor(rng.standard_normal((num_envs, 3)) + 0.1 * played.sum()).to(device)
            next_done = torch.Tensor(rng.integers(0, 2, num_envs)).to(device)
        with torch.no_grad():
            next_value = agent.get_value(next_obs).reshape(1, -1)
            advantages = torch.zeros_like(rewards).to(device)
            lastgaelam = 0
            for t in reversed(range(num_steps)):
                nonterminal = 1.0 - (next_done if t == num_steps - 1 else dones[t + 1])
                nextvalues = next_value if t == num_steps - 1 else values[t + 1]
                delta = rewards[t] + 0.99 * nextvalues * nonterminal - values[t]
                advantages[t] = lastgaelam = delta + 0.99 * 0.95 * nonterminal * lastgaelam
            returns = advantages + values
        b_obs, b_actions = obs.reshape((-1, 3)), actions.reshape((-1, 2))
        b_logprobs, b_advantages = logprobs.reshape(-1), advantages.reshape(-1)
        b_returns, b_values = returns.reshape(-1), values.reshape(-1)
        b_inds = np.arange(num_steps * num_envs)
        for _ in range(epochs):
            rng.shuffle(b_inds)
            for start in range(0, len(b_inds), minibatch):
                mb = b_inds[start : start + minibatch]
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_actions[mb])
                logratio = newlogprob - b_logprobs[mb]
                ratio = logratio.exp()
                with torch.no_grad():
                    approx_kl = ((ratio - 1) - logratio).mean()
                    clipfrac = ((ratio - 1.0).abs() > clip_coef).float().mean().item()
                adv = b_advantages[mb]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                pg_loss = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)).mean()
                newvalue = newvalue.view(-1)
                v_clipped = b_values[mb] + torch.clamp(newvalue - b_values[mb], -clip_coef, clip_coef)
                v_loss_max = torch.max((newvalue - b_returns[mb]) ** 2, (v_clipped - b_returns[mb]) ** 2)
                loss = pg_loss - ent_coef * entropy.mean() + 0.5 * v_loss_max.mean() * vf_coef
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
                history += [loss.item(), approx_kl.item(), clipfrac]
        y_pred, y_true = b_values.cpu().numpy(), b_returns.cpu().numpy()
        history.append(float(1 - np.var(y_true - y_pred) / np.var(y_true)))
    return history, agent


def main(prepare=lambda model: None, steps=20):
    torch.manual_seed(543)
    policy = Policy()
    prepare(policy)
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    rng = np.random.default_rng(4)
    history = []
    for _ in range(steps // 4):
        state = rng.standard_normal(4)
        for _ in range(5):
            action = select_action(policy, state)
            policy.rewards.append(float(state[action]))
            state = 0.5 * state + rng.standard_normal(4)
        history.append(finish_episode(policy, optimizer))
    more, agent = ppo(prepare, max(1, steps // 6))
    return history + more, {"policy": policy, "agent": agent}


if __name__ == "__main__":
    print(main()[0][-1])
