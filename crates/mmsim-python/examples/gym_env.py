"""A Gymnasium environment: an agent sets swappiness and reclaims memory of a group.

A step is 50 ms of simulated time. The reward is the work that was done in it, as a share of what an
agent that does nothing gets in its first step, and the share of the group's memory that is free.

    python examples/gym_env.py    # checks it by Gymnasium's own check, and plays a few steps
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

import mmsim

# A tenth of the heap is used often, the rest now and then.
SCENARIO = """
name = "agent"
[machine]
memory = "32MiB"
swap = { size = "128MiB", device = "zram" }
[[machine.memcg]]
name = "batch"
[[task]]
workload = "zipf"
memory = "24MiB"
theta = 1.4
accesses = 4000000
write-permille = 300
memcg = "batch"
"""
STEP = 0.05
PAGES = 24 * 256
# Megabytes that an action may reclaim.
MOST = 4


class Reclaim(gymnasium.Env[np.ndarray, np.ndarray]):
    """Observations: free pages, anonymous pages, swap-ins and accesses of the last step, as shares.

    Actions: swappiness as a share of 200, and the share of 4 MiB to reclaim.
    """

    metadata = {"render_modes": ["ansi"]}

    def __init__(self, saved: float = 0.5, render_mode: str | None = None) -> None:
        """``saved`` is what memory that is free is worth, beside work that is done."""
        self.saved = saved
        self.render_mode = render_mode
        self.observation_space = gymnasium.spaces.Box(0.0, 1.0, (4,), np.float32)
        self.action_space = gymnasium.spaces.Box(0.0, 1.0, (2,), np.float32)
        self.scenario = mmsim.Scenario.from_text(SCENARIO)
        self.machine = self.scenario.machine()
        self.machine.step(STEP)
        self.before = {"sim_accesses": 0, "pswpin": 0}
        self.usual = self.machine.vmstat["sim_accesses"]

    def _look(self) -> tuple[np.ndarray, dict[str, float]]:
        vmstat, gauges = self.machine.vmstat, self.machine.gauges
        now = {name: vmstat[name] for name in ("sim_accesses", "pswpin")}
        done = {name: now[name] - self.before[name] for name in now}
        self.before = now
        resident = gauges["nr_active_anon"] + gauges["nr_inactive_anon"]
        shares = [
            gauges["nr_free_pages"] / (32 * 256),
            resident / PAGES,
            done["pswpin"] / PAGES,
            done["sim_accesses"] / (2 * self.usual),
        ]
        observation = np.clip(np.array(shares, dtype=np.float32), 0.0, 1.0)
        info = {
            "throughput": done["sim_accesses"] / self.usual,
            "saved": max(0.0, 1.0 - resident / PAGES),
        }
        return observation, info

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, float]]:
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(1, 1 << 31))
        self.machine = self.scenario.machine(seed=drawn)
        self.machine.step(STEP)
        self.before = {"sim_accesses": 0, "pswpin": 0}
        return self._look()

    def step(
        self, action: np.ndarray
    ) -> tuple[np.ndarray, float, bool, bool, dict[str, float]]:
        self.machine.set("vm.swappiness", round(200 * float(action[0])))
        pages = round(MOST * 256 * float(action[1]))
        if pages > 0:
            self.machine.reclaim("batch", pages * 4096)
        more = self.machine.step(STEP)
        observation, info = self._look()
        reward = info["throughput"] + self.saved * info["saved"]
        return observation, reward, not more, False, info

    def render(self) -> str:
        return repr(self.machine)


def main() -> None:
    from gymnasium.utils.env_checker import check_env

    check_env(Reclaim(), skip_render_check=True)
    environment = Reclaim()
    for reclaim in (0.0, 1.0):
        environment.reset(seed=1)
        total, ended, steps = 0.0, False, 0
        while not ended and steps < 40:
            action = np.array([0.3, reclaim], dtype=np.float32)
            _, reward, ended, _, info = environment.step(action)
            total, steps = total + reward, steps + 1
        print(f"reclaim {reclaim}: reward {total / steps:.3f} a step, {info['saved']:.2f} saved")


if __name__ == "__main__":
    main()
