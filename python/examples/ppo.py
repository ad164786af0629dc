"""PPO on stowplan.gym: a softmax over devices for each unit, clipped, with Adam; 64 placements an update, one evaluation in C++ each."""

import sys

import gymnasium
import numpy as np

import stowplan
from stowplan.gym import VectorEnv

updates = int(sys.argv[1]) if len(sys.argv) > 1 else 60
problem = stowplan.Problem("inception_v3(batch=32)", "k80(gpus=2)", devices="gpu", grouper="neighbour(groups=64)")
env = VectorEnv(problem, 64, autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP)
random = np.random.default_rng(1)
logits = np.zeros((problem.units, len(problem.devices)))
mean, square, steps, first, best = np.zeros_like(logits), np.zeros_like(logits), 0, None, np.inf


def softmax(values):
    power = np.exp(values - values.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)


def probability(actions):  # [placements, units], of what was drawn
    return np.take_along_axis(softmax(logits)[None], actions[..., None], axis=-1)[..., 0]


_, info = env.reset(seed=1)
for update in range(updates):
    logits[info["action_mask"][0] == 0] = -1e9
    actions = (random.random((64, problem.units, 1)) > softmax(logits).cumsum(axis=-1)).sum(axis=-1).clip(max=logits.shape[1] - 1)
    _, rewards, _, _, info = env.step(actions)
    runtimes = np.where(info["final_info"]["fits"], info["final_info"]["runtime_us"], np.inf) / 1e6
    first, best = first or float(np.mean(rewards)), min(best, runtimes.min())
    advantage = ((rewards - rewards.mean()) / (rewards.std() + 1e-8))[:, None]
    before = probability(actions)
    for _ in range(4):
        ratio = probability(actions) / before
        clipped = (ratio > 1.2) & (advantage > 0) | (ratio < 0.8) & (advantage < 0)
        weight = np.where(clipped, 0, ratio * advantage)[..., None]  # the gradient of ratio * advantage is this times that of the log
        gradient = (weight * (np.eye(logits.shape[1])[actions] - softmax(logits)[None])).mean(axis=0)
        steps += 1
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        logits += 0.05 * (mean / (1 - 0.9**steps)) / (np.sqrt(square / (1 - 0.999**steps)) + 1e-8)
    if update % 10 == 0 or update == updates - 1:
        print(f"update {update:3}: mean reward {rewards.mean():.4f}, best {best:.3f} s")
print(f"mean reward {first:.4f} -> {rewards.mean():.4f}")
