"""stowplan.gym: what Gymnasium asks of an environment, rewards, masks, padding, seeds, and many at once. Run by run.py."""

import importlib.util
import sys
import unittest
import warnings

if importlib.util.find_spec("gymnasium") is None:
    print("skipped: no gymnasium; python/environment makes an environment that has it")
    sys.exit(77)

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import stowplan
from stowplan.gym import OneShotEnv, StepwiseEnv, VectorEnv


def problem(ops=12):
    return stowplan.Problem(f"random_dag(ops={ops})", "k80(gpus=2)", devices="gpu")


class Single(unittest.TestCase):
    def test_gymnasiums_checker_accepts_both(self):
        for env in (OneShotEnv(problem()), StepwiseEnv(problem()), StepwiseEnv([problem(), problem(9)], max_units=20, max_edges=60)):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.filterwarnings("ignore", message=".*(not normalized|infinity|not within|spec).*")
                check_env(env, skip_render_check=True)

    def test_one_shot_pays_the_reward_of_the_placement(self):
        one = problem()
        env = OneShotEnv(one)
        env.reset(seed=1)
        action = np.arange(one.units) % 2
        _, reward, terminated, truncated, info = env.step(action)
        batch = one.evaluate([one.devices[action]])
        self.assertEqual((reward, info["runtime_us"]), (batch.reward[0], batch.runtime_us[0]))
        self.assertTrue(terminated and not truncated)
        with self.assertRaises(gymnasium.error.ResetNeeded):
            env.step(action)

    def test_stepwise_visits_each_unit_once_and_its_rewards_add_up(self):
        one = problem()
        env = StepwiseEnv(one)
        seen, _ = env.reset(seed=5)
        start = one.evaluate([one.devices[seen["placement"]]]).reward[0]
        actions = np.random.default_rng(2).integers(2, size=one.units)
        total = 0
        for unit, action in enumerate(actions):
            self.assertEqual(seen["current"], unit)
            seen, reward, terminated, _, _ = env.step(action)
            self.assertEqual(seen["placement"][unit], action)
            total += reward
        self.assertTrue(terminated)
        self.assertAlmostEqual(start + total, one.evaluate([one.devices[actions]]).reward[0])

    def test_observations_are_the_problems_graph_padded(self):
        one = problem()
        seen, _ = OneShotEnv(one, max_units=15, max_edges=80).reset(seed=1)
        edges = one.edges.shape[1]
        self.assertEqual((seen["node_mask"].sum(), seen["edge_mask"].sum()), (one.units, edges))
        np.testing.assert_array_equal(seen["edge_index"][:, :edges], one.edges)
        np.testing.assert_allclose(seen["nodes"][: one.units, :2], np.log1p(one.unit_cost_us[:, one.devices]), rtol=1e-6)
        self.assertFalse(seen["nodes"][one.units :].any())

    def test_masks_keep_a_unit_off_a_device_that_is_too_small(self):
        graph = stowplan.Graph.from_arrays(cost_us=[1, 1], edges=[], persistent_bytes=[3 << 30, 0])
        small = stowplan.Problem(graph, "k80(gpus=2)", devices="gpu", memory=["gpu0=1GiB"])
        _, info = OneShotEnv(small).reset(seed=1)
        self.assertEqual(info["action_mask"].tolist(), [[0, 1], [1, 1]])

    def test_seeds_draw_the_same_problems_and_starts(self):
        env = StepwiseEnv([problem(), problem(9)])
        episodes = [[(info["problem"], seen["placement"].tolist()) for seen, info in [env.reset(seed=3), env.reset(), env.reset(), env.reset()]]
                    for _ in range(2)]
        self.assertEqual(*episodes)
        self.assertEqual({drawn for drawn, _ in episodes[0]}, {0, 1})

    def test_what_does_not_fit_together_is_refused(self):
        for sentence, call in (("there is none", lambda: OneShotEnv([])),
                               ("another number of devices", lambda: OneShotEnv([problem(), stowplan.Problem("chain", "k80(gpus=2)")])),
                               ("the largest problem has", lambda: OneShotEnv(problem(), max_units=3)),
                               ("num_envs: 0", lambda: VectorEnv(problem(), 0))):
            with self.assertRaisesRegex(stowplan.InputError, sentence):
                call()
        env = StepwiseEnv(problem())
        env.reset(seed=1)
        with self.assertRaisesRegex(stowplan.InputError, "wanted 0 to 1"):
            env.step(2)
        for action in (0.7, 1.0, float("nan"), True):
            with self.assertRaisesRegex(stowplan.InputError, "action: the entries are (float64|bool), wanted whole numbers"):
                env.step(action)


class Vector(unittest.TestCase):
    def test_it_steps_as_gymnasiums_own_does(self):
        for kind, stepwise in ((OneShotEnv, False), (StepwiseEnv, True)):
            for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
                with self.subTest(kind=kind.__name__, mode=mode.name):
                    ours = VectorEnv([problem(), problem(9)], 5, stepwise=stepwise, autoreset_mode=mode)
                    theirs = gymnasium.vector.SyncVectorEnv([lambda: kind([problem(), problem(9)])] * 5, autoreset_mode=mode)
                    self.assertEqual((ours.observation_space, ours.action_space), (theirs.observation_space, theirs.action_space))
                    ours_told, theirs_told = ours.reset(seed=7), theirs.reset(seed=7)
                    ours.action_space.seed(1)
                    for _ in range(30):
                        for mine, other in zip(ours_told[:-1], theirs_told[:-1]):
                            if isinstance(mine, dict):
                                for key in other:
                                    np.testing.assert_array_equal(mine[key], other[key], err_msg=key)
                            else:
                                np.testing.assert_array_equal(mine, other)
                        self.same_infos(ours_told[-1], theirs_told[-1])
                        action = ours.action_space.sample()
                        ours_told, theirs_told = ours.step(action), theirs.step(action)

    def same_infos(self, ours, theirs):
        self.assertEqual(set(ours), set(theirs))
        for key in theirs:
            if key == "final_info":
                self.same_infos(ours[key], theirs[key])
            elif key != "final_obs":
                np.testing.assert_array_equal(ours[key], theirs[key], err_msg=key)

    def test_what_is_sent_is_worked_out_until_it_is_received(self):
        stepped, sent = (VectorEnv(problem(), 8, stepwise=True, threads=threads, autoreset_mode=AutoresetMode.SAME_STEP) for threads in (1, 2))
        stepped.reset(seed=3)
        sent.reset(seed=3)
        sent.action_space.seed(1)
        for _ in range(15):
            actions = sent.action_space.sample()
            sent.send(actions)
            with self.assertRaisesRegex(stowplan.InputError, r"call recv\(\)"):
                sent.send(actions)
            for mine, other in zip(sent.recv()[1:4], stepped.step(actions)[1:4]):
                np.testing.assert_array_equal(mine, other)
        with self.assertRaisesRegex(stowplan.InputError, r"call send\(\) first"):
            sent.recv()

    def test_one_that_is_left_while_it_works_ends(self):
        env = VectorEnv(problem(200), 64)
        env.reset(seed=1)
        env.send(env.action_space.sample())
        del env

    def test_actions_of_the_wrong_size_are_refused(self):
        env = VectorEnv(problem(), 3)
        env.reset(seed=1)
        with self.assertRaisesRegex(stowplan.InputError, "action: 4 numbers, wanted 12 for each of 3 episodes"):
            env.step(np.zeros(4, np.int64))
        env.step(env.action_space.sample())

    def test_without_autoreset_single_ones_begin_again(self):
        env = VectorEnv(problem(), 3, autoreset_mode=AutoresetMode.DISABLED)
        env.reset(seed=1)
        action = env.action_space.sample()
        env.step(action)
        with self.assertRaises(gymnasium.error.ResetNeeded):
            env.step(action)
        env.reset(options={"reset_mask": np.array([True, True, True])})
        env.step(action)


if __name__ == "__main__":
    unittest.main()
