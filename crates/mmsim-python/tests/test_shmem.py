"""Shared and locked memory: gauges, groups, the OOM killer, and what is refused."""

import json
import unittest

import mmsim

SHARED = """
name = "shared"
[machine]
kernel = "6.12"
memory = "32MiB"
swap = { size = "64MiB", device = "zram" }
memcg = [{ name = "db" }]
[[task]]
name = "db"
workload = "phased"
memcg = "db"
regions = { r = { memory = "4MiB", kind = "shmem", noswap = true }, s = { memory = "2MiB", kind = "shmem" }, a = { memory = "1MiB" } }
steps = [
    { do = "allocate", region = "r" },
    { do = "allocate", region = "s" },
    { do = "allocate", region = "a" },
    { do = "mlock", region = "a" },
    { do = "sleep", time = "1s" },
]
"""


class Shmem(unittest.TestCase):
    def test_a_machine_shows_shared_and_locked_memory(self):
        m = mmsim.Scenario.from_text(SHARED).machine()
        m.step("500ms")
        # 1,024 pages with noswap, 512 of other shared memory, 256 that are locked.
        gauges = [m.gauges[name] for name in ("nr_shmem", "nr_file_pages", "nr_unevictable")]
        self.assertEqual(gauges, [1536, 1536, 1280])
        stat = m.memory_stat("db")
        sizes = [stat[name] // 4096 for name in ("shmem", "file", "unevictable", "anon")]
        self.assertEqual(sizes, [1536, 1536, 1280, 256])
        counts = [m.vmstat["unevictable_pgs_" + name] for name in ("mlocked", "culled", "scanned")]
        self.assertEqual(counts, [256, 1280, 0])

    def test_unlocked_memory_goes_to_swap(self):
        steps = '{ do = "shm-lock", region = "s" }, { do = "sleep", time = "1s" }'
        text = SHARED.replace('{ do = "sleep", time = "1s" }', steps)
        for text, left in [(text, 1536), (SHARED, 1024)]:
            m = mmsim.Scenario.from_text(text).machine()
            m.step("100ms")
            m.reclaim("db", "2MiB")
            m.step("300ms")
            self.assertEqual(m.gauges["nr_shmem"], left)

    def test_the_oom_killer_names_shared_memory(self):
        text = SHARED.replace('swap = { size = "64MiB", device = "zram" }', "")
        text = text.replace('s = { memory = "2MiB"', 's = { memory = "64MiB"')
        run = json.loads(mmsim.Scenario.from_text(text).run(seeds=1).to_json())["runs"][0]
        oom = run["oom"]
        self.assertEqual(oom["processes"][0]["shmem"], oom["processes"][0]["resident"])
        self.assertEqual(oom["shmem"], oom["processes"][0]["shmem"])
        self.assertGreater(oom["shmem"], 6000)

    def test_what_is_not_modelled_is_refused(self):
        for wrong, says in [
            ('kind = "shmem", huge = "always"', "huge pages of shared memory are not modelled"),
            ('kind = "anon", noswap = true', "is not shared memory"),
        ]:
            text = SHARED.replace('kind = "shmem" }', wrong + " }")
            with self.assertRaisesRegex(mmsim.ScenarioError, says):
                mmsim.Scenario.from_text(text)


if __name__ == "__main__":
    unittest.main()
