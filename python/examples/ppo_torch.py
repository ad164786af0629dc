"""PPO in PyTorch on stowplan.gym: a policy that reads the graph, two rounds of messages along its edges, 64 placements an update.

    python ppo_torch.py [updates] [curve.csv]
"""

import sys

import gymnasium
import numpy as np
import torch
from torch import nn

import stowplan
from stowplan.gym import VectorEnv

updates = int(sys.argv[1]) if len(sys.argv) > 1 else 60
problem = stowplan.Problem("inception_v3(batch=32)", "k80(gpus=2)", devices="gpu", grouper="neighbour(groups=64)")
env = VectorEnv(problem, 64, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)
torch.manual_seed(1)
torch.set_num_threads(1)


class Policy(nn.Module):
    def __init__(self, features, devices, width=64):
        super().__init__()
        self.inner = nn.Linear(features + env.single_observation_space["nodes"].shape[0], width)  # what a unit is, and which
        self.messages = nn.ModuleList(nn.Linear(3 * width, width) for _ in range(2))
        self.outer = nn.Linear(width, devices)

    def forward(self, nodes, edges):
        x = torch.relu(self.inner(torch.cat([nodes, torch.eye(len(nodes))], dim=1)))
        for message in self.messages:  # sums of what comes before and behind
            before = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
            behind = torch.zeros_like(x).index_add(0, edges[0], x[edges[1]])
            x = x + torch.tanh(message(torch.cat([x, before, behind], dim=1)))
        return self.outer(x)


seen, info = env.reset(seed=1)
nodes, mask = torch.tensor(seen["nodes"][0]), torch.tensor(info["action_mask"][0])
edges = torch.tensor(seen["edge_index"][0][:, seen["edge_mask"][0] == 1])
policy = Policy(nodes.shape[1], len(problem.devices))
optimizer, best, curve = torch.optim.Adam(policy.parameters(), lr=3e-3), np.inf, []
for update in range(updates):
    choice = torch.distributions.Categorical(logits=policy(nodes, edges).masked_fill(mask == 0, -1e9))
    actions = choice.sample((64,))
    before = choice.log_prob(actions).detach()
    _, rewards, _, _, info = env.step(actions.numpy())
    runtimes = np.where(info["final_info"]["fits"], info["final_info"]["runtime_us"], np.inf) / 1e6
    best = min(best, runtimes.min())
    curve.append((update, rewards.mean(), best))
    advantage = torch.tensor((rewards - rewards.mean()) / (rewards.std() + 1e-8), dtype=torch.float32)[:, None]
    for _ in range(4):
        choice = torch.distributions.Categorical(logits=policy(nodes, edges).masked_fill(mask == 0, -1e9))
        ratio = (choice.log_prob(actions) - before).exp()
        loss = -torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean() - 1e-3 * choice.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if update % 10 == 0 or update == updates - 1:
        print(f"update {update:3}: mean reward {rewards.mean():.4f}, best {best:.3f} s")
if len(sys.argv) > 2:
    np.savetxt(sys.argv[2], curve, fmt=["%d", "%.5f", "%.5f"], delimiter=",", header="update,mean_reward,best_seconds", comments="")
print(f"mean reward {curve[0][1]:.4f} -> {curve[-1][1]:.4f}")
