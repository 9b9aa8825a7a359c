"""Whatever is given, the answer is an ``Exception`` of a documented class: no signal, no panic."""

import os
import shutil
import signal
import threading
import unittest

import mmsim
from support import GROUP, SMALL, InFolder

PLAN = 'version = 1\nscenarios = ["small.toml"]\nseeds = 3\n'
TINY = SMALL.replace("20000", "1500").replace("seeds = 2", "seeds = 1")


class Within(unittest.TestCase):
    def test_lists_and_dicts_within_themselves(self):
        scenario = mmsim.Scenario.from_text(SMALL)
        keys = {}
        keys["machine"] = keys
        items = []
        items.append(items)
        both = {"a": [{}]}
        both["a"][0]["b"] = both["a"]
        for call in [
            lambda: mmsim.Scenario.from_dict(keys),
            lambda: mmsim.Scenario.from_dict(both),
            lambda: mmsim.Scenario.from_dict({"task": items}),
            lambda: scenario.set("machine.vm", items),
            lambda: scenario.set("machine.vm", keys),
            lambda: scenario.run(at={"machine.memory": items}),
            lambda: scenario.machine(variant="v5.9").set("vm.swappiness", items),
        ]:
            with self.assertRaisesRegex(ValueError, "within itself"):
                call()

    def test_nested_too_deep(self):
        deep = []
        for _ in range(100_000):
            deep = [deep]
        with self.assertRaisesRegex(ValueError, "64 lists and dicts"):
            mmsim.Scenario.from_text(SMALL).set("machine.vm", deep)
        while deep:
            deep = deep[0]

    def test_the_same_twice_is_not_within_itself(self):
        swap = {"size": "64MiB", "device": "zram"}
        task = {"workload": "zipf", "memory": "1MiB", "accesses": 10}
        machine = {"memory": "8MiB", "swap": [swap, swap]}
        scenario = mmsim.Scenario.from_dict({"name": "x", "machine": machine, "task": [task, task]})
        self.assertEqual(len(scenario.run(seeds=1).runs), 1)


class Numbers(InFolder):
    def test_numbers_out_of_range_name_their_argument(self):
        self.write("small.toml", SMALL)
        self.write("plan.toml", PLAN)
        scenario = mmsim.Scenario("small.toml")
        machine = mmsim.Scenario.from_text(GROUP).machine()
        plan = mmsim.SweepPlan("plan.toml")
        store = mmsim.Store(plan, "store")
        report = scenario.run(seeds=1)
        for name, call in {
            "seeds": lambda n: scenario.run(seeds=n),
            "jobs": lambda n: scenario.run(jobs=n),
            "seed": lambda n: scenario.machine(variant="v5.9", seed=n),
            "unit": lambda n: plan.make(n),
            "width": lambda n: report.table(width=n),
            "size": lambda n: machine.reclaim("batch", n),
        }.items():
            for number in (-1, 1 << 64, 1 << 70):
                with self.assertRaisesRegex(ValueError, f"^{name}: found {number}"):
                    call(number)
            what = "a size is a str" if name == "size" else f"{name} is an int"
            for other in (None, 1.5, "1", [1], True, object()):
                if other is None and name not in ("unit", "size"):
                    continue
                if name == "seeds" and other == [1] or name == "size" and other == "1":
                    continue
                with self.assertRaisesRegex(TypeError, what):
                    call(other)
        with self.assertRaisesRegex(ValueError, "^seeds: found -1"):
            scenario.run(seeds=[1, -1])
        with self.assertRaisesRegex(ValueError, "^seed: found -1"):
            scenario.why("v5.9", "v6.12", seed=-1)
        with self.assertRaisesRegex(ValueError, "^unit: found -1"):
            store.keep(-1, plan.make(0))
        store.close()


class Stores(InFolder):
    def test_a_store_keeps_the_result_of_the_very_unit(self):
        self.write("small.toml", TINY)
        self.write("plan.toml", PLAN)
        plan = mmsim.SweepPlan("plan.toml")
        made = [plan.make(unit) for unit in range(len(plan))]
        self.assertEqual(len(made), 6)
        store = mmsim.Store(plan, "store")
        report = mmsim.Scenario("small.toml").run(seeds=1).to_json()
        name = '{"unit":"'
        start = len(name) + 34
        wrong = [
            made[1],
            made[5],
            made[0].replace('"seed":1', '"seed":2', 1),
            made[0].replace('"v5.9"', '"v6.12"', 1),
            made[0][:-1],
            made[0] + "\n" + made[1],
            made[0].replace(",", "\n,", 3),
            made[0][:start] + '"x":1}',
            "{" + made[0][start:],
            report,
            "",
            "{}",
            "junk\njunk",
            name + "é" * 40,
        ]
        for text in wrong:
            with self.assertRaisesRegex(mmsim.OptionError, "unit 0: "):
                store.keep(0, text)
        for unit in reversed(range(len(plan))):
            store.keep(unit, made[unit])
        store.close()
        self.assertEqual(mmsim.Store(plan, "store").missing, [])
        again = mmsim.Store(plan, "again")
        for unit, text in enumerate(made):
            again.keep(unit, text)
        again.close()
        self.assertEqual(store.to_json(), again.to_json())

    def test_a_result_of_an_edited_scenario_is_of_another_unit(self):
        self.write("small.toml", TINY)
        self.write("plan.toml", PLAN)
        before = mmsim.SweepPlan("plan.toml").make(0)
        self.write("small.toml", TINY.replace("1500", "1600"))
        plan = mmsim.SweepPlan("plan.toml")
        store = mmsim.Store(plan, "store")
        with self.assertRaisesRegex(mmsim.OptionError, "the result is of unit "):
            store.keep(0, before)
        store.close()
        shutil.rmtree("store")


class Interrupts(unittest.TestCase):
    """Ctrl-C ends a run whose policy never comes back: in its methods and where it is made."""

    def setUp(self):
        # A shell that starts this in the background has it ignore Ctrl-C.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def ends(self, policy):
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            mmsim.Scenario.from_text(SMALL).run(seeds=1, variants="v6.12", policies=[policy])
        timer.join()

    @unittest.skipUnless(hasattr(signal, "SIGINT") and os.name == "posix", "signals of POSIX")
    def test_a_policy_that_loops(self):
        class Loops(mmsim.Policy):
            def arrived(self, folios):
                pass

            def departed(self, folio):
                pass

            def candidates(self, wanted):
                while True:
                    pass

        class Keeps(Loops):
            """It does not even let the exception pass."""

            def candidates(self, wanted):
                for _ in range(3):
                    try:
                        while True:
                            pass
                    except KeyboardInterrupt:
                        pass
                return []

        class Begins(Loops):
            def __init__(self):
                while True:
                    pass

        for policy in (Loops, Keeps, Begins):
            self.ends(policy)


class Odd(InFolder):
    """Every function with every odd value: what comes is an ``Exception``, or an answer."""

    VALUES = [
        None,
        True,
        -1,
        0,
        1 << 70,
        float("nan"),
        float("inf"),
        -0.5,
        "",
        "\0",
        "é" * 300,
        b"\xff",
        [],
        [None],
        [[]],
        {},
        {1: 2},
        {"a": None},
        (),
        set(),
        object(),
        print,
        mmsim.Policy,
    ]

    def test_odd_values(self):
        self.write("small.toml", TINY)
        self.write("plan.toml", PLAN)
        scenario = mmsim.Scenario("small.toml")
        report = scenario.run(seeds=1)
        plan = mmsim.SweepPlan("plan.toml")
        store = mmsim.Store(plan, "store")
        machine = scenario.machine(variant="v5.9")
        table = mmsim.Table
        calls = [
            mmsim.Scenario.from_text,
            mmsim.Scenario.from_dict,
            lambda v: scenario.set(v, 1),
            lambda v: scenario.set("machine.memory", v),
            lambda v: scenario.set("task", v),
            lambda v: scenario.run(seeds=v, progress=False),
            lambda v: scenario.run(seeds=1, variants=v),
            lambda v: scenario.run(seeds=1, at=v),
            lambda v: scenario.run(seeds=1, jobs=v),
            lambda v: scenario.run(seeds=1, series=v, columns=["pswpin"]),
            lambda v: scenario.run(seeds=1, series="1ms", columns=v),
            lambda v: scenario.run(seeds=1, policies=v),
            lambda v: scenario.run(seeds=1, policies=[v]),
            lambda v: scenario.run(seeds=1, progress=v),
            lambda v: scenario.machine(variant=v),
            lambda v: scenario.machine(variant="v5.9", seed=v),
            lambda v: scenario.machine(variant="v5.9", at=v),
            lambda v: scenario.why(v, "v6.12"),
            lambda v: machine.step(v),
            lambda v: machine.run_until(v),
            lambda v: machine.set("vm.swappiness", v),
            lambda v: machine.set(v, 1),
            lambda v: machine.reclaim(v, "1MiB"),
            lambda v: machine.reclaim("root", v),
            lambda v: report.table(by=v),
            lambda v: report.table(width=v),
            lambda v: report.page(by=v),
            lambda v: report.compare(v, "v6.12"),
            lambda v: report.compare("v5.9", "v6.12", phase=v),
            lambda v: report.compare_with(v),
            mmsim.Report.from_json,
            mmsim.Report.read,
            mmsim.SweepPlan,
            lambda v: mmsim.Store(v, "other"),
            lambda v: plan.make(v),
            lambda v: store.keep(v, "x"),
            lambda v: store.keep(0, v),
            table.from_whole,
            lambda v: table.from_whole({"a": v}),
            lambda v: table.from_whole({"a": b"\0" * 8, "b": v}),
            lambda v: mmsim.Trace.from_arrow(v, "t.mmt"),
            lambda v: mmsim.Trace.from_arrays(v, "t.mmt"),
            lambda v: mmsim.Trace.from_arrays([1], v),
            lambda v: mmsim.Trace.from_arrays([1], "t.mmt", write=v),
            lambda v: mmsim.Trace.from_arrays([1], "t.mmt", time_ns=v),
            lambda v: mmsim.Trace.from_arrays([1], "t.mmt", name=v),
            lambda v: mmsim.sweep(v),
            lambda v: mmsim.sweep("plan.toml", v),
        ]
        refused = 0
        for call in calls:
            for value in self.VALUES:
                try:
                    call(value)
                except Exception as e:
                    refused += 1
                    self.assertNotIsInstance(e, (OverflowError, SystemError, MemoryError), value)
        self.assertGreater(refused, len(calls) * len(self.VALUES) // 2)
        store.close()

    def test_a_frame_without_pages(self):
        for call in [
            lambda: mmsim.Trace.from_arrays(None, "x.mmt"),
            lambda: mmsim.Trace.from_arrays(5, "x.mmt"),
        ]:
            with self.assertRaises(TypeError):
                call()
        with self.assertRaisesRegex(ValueError, "at least one column"):
            mmsim.Table.from_whole({})
        self.assertFalse(os.path.exists("x.mmt"))


if __name__ == "__main__":
    unittest.main()
