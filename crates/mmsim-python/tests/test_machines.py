"""A machine that goes on step by step is the run that goes on at once."""

import json
import threading
import unittest

import mmsim
from support import GROUP, ROOT, SMALL, InFolder


class Steps(unittest.TestCase):
    def test_steps_change_nothing(self):
        scenario = mmsim.Scenario.from_text(SMALL, "small.toml")
        for variant in scenario.variants:
            whole = scenario.run(variants=variant, seeds=1).to_json()
            m = scenario.machine(variant=variant)
            while m.step("137us"):
                m.vmstat, m.gauges
            self.assertTrue(m.ended)
            self.assertEqual(m.report().to_json(), whole)

    def test_several_threads_on_several_cpus(self):
        scenario = mmsim.Scenario(ROOT / "scenarios" / "two-groups.toml")
        variant = scenario.variants[0]
        whole = scenario.run(variants=variant, seeds=1)
        m = scenario.machine(variant=variant)
        steps = 0
        while m.step("50ms"):
            steps += 1
        self.assertGreater(steps, 2)
        self.assertEqual(m.report().digests, whole.digests)

    def test_counters_on_the_way(self):
        scenario = mmsim.Scenario.from_text(SMALL)
        series = scenario.run(variants="v6.12", seeds=1, series="2ms").series.to_pydict()
        m = scenario.machine(variant="v6.12")
        m.run_until("4ms")
        self.assertEqual((m.now_ns, m.now, m.ended), (4_000_000, 0.004, False))
        at = series["time_ns"].index(4_000_000)
        self.assertEqual(m.vmstat["pswpin"], series["pswpin"][at])
        self.assertEqual(m.gauges["nr_free_pages"], series["nr_free_pages"][at])
        self.assertTrue(m.run_until("1ms"), "an instant that is past changes nothing")
        self.assertEqual(m.now_ns, 4_000_000)
        self.assertIn("at 0.004000 s", repr(m))

    def test_a_machine_whose_report_was_made_says_so(self):
        m = mmsim.Scenario.from_text(SMALL).machine(variant="v6.12")
        m.report()
        with self.assertRaisesRegex(RuntimeError, "the run is over"):
            m.step(1)

    def test_two_threads_may_ask_at_once(self):
        m = mmsim.Scenario.from_text(GROUP).machine()
        goes = threading.Thread(target=lambda: m.run_until(100))
        goes.start()
        while goes.is_alive():
            self.assertGreaterEqual(m.now, 0)
        self.assertTrue(m.ended)


class Knobs(InFolder):
    FILES = """
machine = { memory = "16MiB", swap = { size = "64MiB", device = "zram" } }
[[task]]
name = "reader"
workload = "zipf"
memory = "16MiB"
accesses = 400000
region = "file-private"
write-permille = 0
[[task]]
name = "heap"
workload = "zipf"
memory = "16MiB"
accesses = 400000
write-permille = 300
"""

    def test_swappiness_is_turned(self):
        # With 200 anonymous memory is taken first, with 0 the cache alone: swap-ins fall.
        outs = {}
        for value in (0, 200):
            m = mmsim.Scenario.from_text(self.FILES).machine()
            m.run_until("20ms")
            before = m.vmstat["pswpout"]
            m.set("vm.swappiness", value)
            m.run_until("200s")
            outs[value] = m.vmstat["pswpout"] - before
            run = json.loads(m.report().to_json())["runs"][0]
            self.assertEqual(
                [v for k, v in run["setup"].items() if k.startswith("action 1 at 0.020000 s")],
                [str(value)],
            )
        self.assertLess(outs[0] * 2, outs[200])

    def test_what_it_was_already_changes_nothing(self):
        scenario = mmsim.Scenario.from_text(SMALL)
        m = scenario.machine(variant="v6.12")
        m.run_until("2ms")
        m.set("vm.swappiness", 60)
        self.assertEqual(m.report().digests, scenario.run(variants="v6.12", seeds=1).digests)

    def test_what_cannot_be_turned(self):
        m = mmsim.Scenario.from_text(SMALL).machine(variant="v6.12")
        for key, value, words in [
            ("vm.nr_hugepages", 1, "cannot change while a machine runs"),
            ("machine.memory", "16MiB", "cannot change while a machine runs"),
            ("vm.swapiness", 1, "did you mean"),
            ("vm.swappiness", 201, "201"),
        ]:
            with self.assertRaisesRegex(mmsim.OptionError, words):
                m.set(key, value)
        fixed = mmsim.Scenario.from_text(
            SMALL.replace('kernel = "6.12"', 'kernel = "6.12", set = { "machine.vm.swappiness" = 5 }')
        )
        with self.assertRaisesRegex(mmsim.OptionError, "variant or axes"):
            fixed.machine(variant="v6.12").set("vm.swappiness", 10)

    def test_watermarks_are_turned(self):
        # kswapd works up to a higher mark: more is free.
        free = {}
        for factor in (10, 1000):
            m = mmsim.Scenario.from_text(SMALL).machine(variant="v6.12")
            m.run_until("20ms")
            m.set("vm.watermark_scale_factor", factor)
            m.step("5ms")
            free[factor] = m.gauges["nr_free_pages"]
        self.assertGreater(free[1000], free[10])

    def test_memory_is_reclaimed(self):
        m = mmsim.Scenario.from_text(GROUP).machine()
        m.run_until("50ms")
        before = m.vmstat
        m.reclaim("batch", "2MiB")
        m.step("20ms")
        now = m.vmstat
        self.assertEqual(now["sim_memcg_reclaim_asked"] - before["sim_memcg_reclaim_asked"], 512)
        self.assertGreaterEqual(now["pgsteal_anon"] - before["pgsteal_anon"], 512)
        report = m.report()
        self.assertIn("memory.reclaim of batch", report.to_json())
        again = mmsim.Scenario.from_text(GROUP).machine()
        again.run_until("50ms")
        again.reclaim("batch", 2 << 20)
        self.assertEqual(again.report().digests, report.digests)
        for group, size, error in [
            ("bach", "2MiB", mmsim.OptionError),
            ("batch", "2MB", mmsim.OptionError),
            ("batch", 2.5, TypeError),
        ]:
            with self.assertRaises(error):
                mmsim.Scenario.from_text(GROUP).machine().reclaim(group, size)


if __name__ == "__main__":
    unittest.main()
