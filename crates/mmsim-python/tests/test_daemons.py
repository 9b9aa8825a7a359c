"""Daemons in Python act as rules that say the same; groups as a tree."""

import json
import unittest

import mmsim
from support import ROOT, InFolder

FOLDER = ROOT / "crates/mmsim-score/tests/daemons"
MACHINE = (FOLDER / "kill.toml").read_text(encoding="utf-8")
RULES = (FOLDER / "rules.toml").read_text(encoding="utf-8")
PROGRAM = '\n[[daemon]]\nname = "watcher"\nresident = "64KiB"\nprogram = "watcher"\n'
MIB = 1 << 20


class Watcher(mmsim.Daemon):
    """The rule of rules.toml."""

    def tick(self, system, trigger):
        available = system.read("meminfo.MemAvailable")
        current = system.read("memcg(work/b).current")
        if available < 16 * MIB and current > 8 * MIB:
            rss = [(system.read("rss", process), process) for process in system.processes()]
            most = max(size for size, _ in rss)
            system.kill(next(process for size, process in rss if size == most))
        return system.now_us + 100_000


def daemon(text, **how):
    report = mmsim.Scenario.from_text(text, "kill.toml").run(**how)
    return json.loads(report.to_json())["runs"][0]["daemons"][0]


class Daemons(InFolder):
    def test_a_class_acts_as_the_rule_that_says_the_same(self):
        rules = daemon(MACHINE + RULES)
        python = daemon(MACHINE + PROGRAM, daemons={"watcher": Watcher})
        keys = ["at_ns", "what", "target", "resident_bytes", "lost_accesses"]
        acts = [[[act[key] for key in keys] for act in d["acts"]] for d in (rules, python)]
        self.assertEqual(sorted(act["target"] for act in rules["acts"]), ["hog-0", "hog-1"])
        self.assertEqual(acts[0], acts[1])
        self.assertEqual(rules["cpu_ns"], python["cpu_ns"])

    def test_groups_and_writes(self):
        seen = {}

        class Looks(mmsim.Daemon):
            def tick(self, system, trigger):
                group = system.group("work/b")
                seen["paths"] = [system.group("work"), group, system.group("work/c")]
                seen["below"] = system.groups(system.group("work"))
                seen["processes"] = len(system.processes(group))
                seen["none"] = system.read("meminfo.Nothing"), system.read("current", 99)
                seen["chance"] = system.random()
                system.write(group, "memory.high", 512 * MIB)
                with self.fails(ValueError):
                    system.write(group, "memory.peak", 0)
                with self.fails(ValueError):
                    system.kill(0)
                seen["high"] = system.read("high", group)
                seen["system"] = system
                return None

            fails = staticmethod(self.assertRaises)

        report = daemon(MACHINE + PROGRAM, daemons={"watcher": Looks})
        self.assertEqual(seen["paths"], [1, 3, None])
        self.assertEqual((seen["below"], seen["processes"]), ([2, 3], 2))
        self.assertEqual((seen["none"], seen["high"]), ((None, None), 512 * MIB))
        self.assertEqual((report["looks"], report["acts"][0]["what"]), (1, "memory.high"))
        with self.assertRaisesRegex(RuntimeError, "this tick is over"):
            seen["system"].random()

    def test_mistakes(self):
        class Raises(mmsim.Daemon):
            def tick(self, system, trigger):
                raise ZeroDivisionError("own")

        class Wrong(mmsim.Daemon):
            def tick(self, system, trigger):
                return "soon"

        text = MACHINE + PROGRAM
        with self.assertRaisesRegex(ZeroDivisionError, "own"):
            daemon(text, daemons={"watcher": Raises})
        with self.assertRaisesRegex(TypeError, "tick returns microseconds"):
            daemon(text, daemons={"watcher": Wrong})
        with self.assertRaisesRegex(TypeError, "subclasses of mmsim.Daemon, not int"):
            daemon(text, daemons={"watcher": 3})
        with self.assertRaisesRegex(mmsim.MmsimError, "no daemon `watcher`; `daemons` has other"):
            daemon(text, daemons={"other": Watcher})
        with self.assertRaisesRegex(mmsim.MmsimError, "not run here"):
            daemon(text)

    def test_a_tree_of_groups(self):
        tree = {"pod": {"max": "32MiB", "a": {"low": "8MiB"}, "b": {}}, "other": {}}
        memcg = mmsim.memcgs(tree)
        self.assertEqual([group["name"] for group in memcg], ["pod", "pod/a", "pod/b", "other"])
        task = {"name": "t", "workload": "sequential", "memory": "4MiB", "memcg": "pod/a"}
        machine = {"memory": "64MiB", "memcg": memcg}
        run = mmsim.Scenario.from_dict({"machine": machine, "task": [task]}).machine()
        run.run_until("1s")
        sizes = [run.memory_stat(path)["anon"] for path in ("pod", "pod/a", "pod/b")]
        self.assertEqual(sizes[0], sizes[1])
        self.assertEqual(sizes[2], 0)
        with self.assertRaisesRegex(mmsim.OptionError, "did you mean `pod/a`"):
            run.memory_stat("pod/aa")
        with self.assertRaisesRegex(TypeError, "no dict"):
            mmsim.memcgs({"pod": 3})


if __name__ == "__main__":
    unittest.main()
