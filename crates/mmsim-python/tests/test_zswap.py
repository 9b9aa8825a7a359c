"""zswap and contents of pages: settings, gauges, groups, series and figures."""

import json
import unittest

import mmsim

ZSWAP = """
name = "zswap"
[machine]
kernel = "6.12"
memory = "16MiB"
swap = { size = "64MiB", device = "ssd" }
vm = { page-cluster = 0 }
memcg = [{ name = "batch", zswap-max = "16MiB" }]
zswap = { max-pool-percent = 30, compressor = "lz4" }
[[task]]
workload = "zipf"
memory = "24MiB"
accesses = 40000
write-permille = 300
memcg = "batch"
[task.contents]
zero-permille = 100
lengths = [{ permille = 1000, bytes = 1365 }]
"""


def run_of(scenario):
    """The only run of a scenario, as its report has it."""
    return json.loads(scenario.run(seeds=1).to_json())["runs"][0]


class Zswap(unittest.TestCase):
    def test_a_machine_shows_its_pool(self):
        m = mmsim.Scenario.from_text(ZSWAP).machine()
        while m.step("10ms"):
            if m.gauges["zswap_stored_pages"] > 500:
                break
        pages, frames = m.gauges["zswap_stored_pages"], m.gauges["zswap_pool_pages"]
        # Objects of 1365 bytes: 23 in 8 frames, and a zspage that is not full.
        self.assertGreater(pages, 500)
        self.assertTrue(0 <= frames - pages * 8 / 23 <= 8 * 24, (pages, frames))
        stat = m.memory_stat("batch")
        self.assertEqual(stat["zswapped"], pages * 4096)
        self.assertEqual(stat["zswap"], pages * 1365)
        self.assertEqual(stat["zswpout"], m.vmstat["zswpout"])

    def test_zeros_take_no_object(self):
        text = ZSWAP.replace("zero-permille = 100\nlengths = [{ permille = 1000, bytes = 1365 }]",
                             "zero-permille = 1000")
        run = run_of(mmsim.Scenario.from_text(text))
        self.assertEqual(run["gauges"]["zswap_pool_pages"], 0)
        self.assertEqual(run["vmstat"]["zswpout"], 0)
        self.assertGreater(run["vmstat"]["swpout_zero"], 1000)

    def test_series_have_the_pool(self):
        scenario = mmsim.Scenario.from_text(ZSWAP)
        series = scenario.run(seeds=1, series="5ms").series.to_pydict()
        self.assertGreater(max(series["zswap_pool_pages"]), 0)
        self.assertEqual(series["zswpout"], sorted(series["zswpout"]))

    def test_a_knob_of_zswap_is_one_of_the_run(self):
        scenario = mmsim.Scenario.from_text(ZSWAP)
        few = scenario.set("machine.zswap.max-pool-percent", 2)
        pools = [run_of(s)["gauges"]["zswap_pool_pages"] for s in (few, scenario)]
        # 2 % of 4096 frames, and what a last zspage took.
        self.assertLess(pools[0], 81 + 8)
        self.assertLess(pools[0], pools[1])

    def test_a_limit_without_zswap_is_refused(self):
        text = ZSWAP.replace("zswap = { max", "# zswap = { max")
        with self.assertRaisesRegex(mmsim.ScenarioError, "this machine has no zswap"):
            mmsim.Scenario.from_text(text).run(seeds=1)

    def test_refaults_from_the_pool_read_no_device(self):
        report = mmsim.Scenario.from_text(ZSWAP).run(seeds=1, why=True)
        why = json.loads(report.to_json())["runs"][0]["why"]
        self.assertGreater(sum(c.get("without_device", 0) for c in why["classes"]), 1000)


if __name__ == "__main__":
    unittest.main()
