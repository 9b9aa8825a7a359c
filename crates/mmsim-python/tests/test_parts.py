"""Traces, policies and sweeps."""

import array
import collections
import concurrent.futures as futures
import json
import os
import pathlib
import re
import unittest

import mmsim
from support import ROOT, SMALL, InFolder, command, module

PLAN = """
version = 1
scenarios = ["small.toml"]
seeds = 3
[axes]
"machine.vm.swappiness" = [20, 60, 100]
"""


TUNING = """
version = 1
scenario = "box.toml"
budget = 30
population = 6
seeds = 3
[knobs]
"machine.memory" = { from = "FROM", to = "TO" }
[[objective]]
figure = "swap-ins"
goal = "min"
[[objective]]
figure = "peak_resident"
goal = "min"
"""
BOX = """
machine = { memory = "8MiB", swap = { size = "64MiB", device = "nvme" } }
task = [{ workload = "zipf", memory = "12MiB", accesses = 6000, write-permille = 300 }]
"""


class Sieve(mmsim.Policy):
    """SIEVE: what the hand has passed is one list, what lies before it another."""

    def __init__(self):
        # From the newest to the oldest.
        self.before = collections.deque()
        self.passed = collections.deque()

    def arrived(self, folios):
        self.before.extendleft(folios)

    def departed(self, folio):
        for part in (self.before, self.passed):
            if folio in part:
                part.remove(folio)

    def candidates(self, wanted):
        if not self.before:
            self.before, self.passed = self.passed, self.before
        return [self.before.pop() for _ in range(min(wanted, len(self.before)))]

    def kept(self, folios):
        self.passed.extendleft(folios)


class Mru(mmsim.Policy):
    """The folio that came last goes first."""

    def __init__(self):
        self.folios = []

    def arrived(self, folios):
        self.folios.extend(folios)

    def departed(self, folio):
        self.folios.remove(folio)

    def candidates(self, wanted):
        split = max(0, len(self.folios) - wanted)
        self.folios, out = self.folios[:split], self.folios[split:]
        return out[::-1]

    def kept(self, folios):
        self.folios[:0] = folios


class Policies(unittest.TestCase):
    def test_sieve_in_python_is_sieve_in_rust(self):
        """docs/embedding.md has what the policy of examples/own_policy.rs counts."""
        text = (ROOT / "examples" / "own_policy.toml").read_text()
        report = mmsim.Scenario.from_text(text, "own_policy.toml").run(policies=[Sieve])
        run = json.loads(report.to_json())["runs"][-1]
        self.assertEqual((run["variant"], run["policy"]), ("sieve", "sieve"))
        docs = (ROOT / "docs" / "embedding.md").read_text()
        in_rust = re.search(r"swap-ins +[\d,]+ +([\d,]+)", docs).group(1)
        self.assertEqual(f"{run['vmstat']['pswpin']:,}", in_rust)
        ratio = run["vmstat"]["pgscan_anon"] / run["vmstat"]["pgsteal_anon"]
        self.assertIn(f"{ratio:.2f} ", re.search(r"scanned per reclaimed.*", docs).group(0))
        self.assertIsNone(run["vmstat"]["workingset_refault_anon"], "it leaves no shadows")

    def test_mru_is_better_on_a_ring(self):
        """A ring a little larger than memory: LRU misses always, MRU keeps most of it."""
        scenario = mmsim.Scenario.from_dict(
            {
                "machine": {"memory": "8MiB", "swap": {"size": "64MiB", "device": "zram"}},
                "task": [{"workload": "cyclic", "memory": "9MiB", "passes": 6, "write": True}],
                "variant": [{"name": "v6.12"}],
            }
        )
        runs = json.loads(scenario.run(policies=[Mru], check=True).to_json())["runs"]
        linux, mru = (run["vmstat"]["pswpin"] for run in runs)
        self.assertLess(mru * 2, linux)

    def test_what_a_policy_raises_ends_the_run(self):
        class Broken(Mru):
            def candidates(self, wanted):
                raise ZeroDivisionError("in a policy")

        class Strange(Mru):
            def candidates(self, wanted):
                return [1 << 40]

        class Unfinished(mmsim.Policy):
            pass

        scenario = mmsim.Scenario.from_text(SMALL)
        for policy, error in [
            (Broken, ZeroDivisionError),
            (Strange, ValueError),
            (Unfinished, NotImplementedError),
        ]:
            with self.assertRaises(error):
                scenario.run(variants="v6.12", seeds=1, policies=[policy])

    def test_names(self):
        class Two(Mru):
            name = "v6.12"

        with self.assertRaisesRegex(mmsim.InputError, "a variant of the scenario"):
            mmsim.Scenario.from_text(SMALL).run(policies=[Two])


class Traces(InFolder):
    PAGES = [(i * 37) % 2000 for i in range(30000)]
    WRITES = [i % 3 == 0 for i in range(30000)]

    def scenario(self, trace):
        keys = {
            "machine": {"memory": "6MiB", "swap": {"size": "64MiB", "device": "zram"}},
            "task": [trace.task(name="mine")],
        }
        return mmsim.Scenario.from_dict(keys)

    def test_arrays_are_the_import_of_the_same_columns(self):
        rows = zip(self.PAGES, self.WRITES)
        text = "page,op\n" + "".join(f"{p},{'W' if w else 'R'}\n" for p, w in rows)
        self.write("python.csv", text)
        code, _, err = command("trace", "import", "--from", "csv", "python.csv", "-o", "csv.mmt")
        self.assertEqual(code, 0, err)
        ours = mmsim.Trace.from_arrays(self.PAGES, "t.mmt", write=self.WRITES)
        self.assertEqual(ours.info["accesses read"], "30000")
        csv = mmsim.Trace("csv.mmt", {})
        runs = [self.scenario(trace).run() for trace in (ours, csv)]
        self.assertEqual(runs[0].digests, runs[1].digests)
        swap_ins = json.loads(runs[0].to_json())["runs"][0]["vmstat"]["pswpin"]
        self.assertGreater(swap_ins, 0)

    def test_lists_arrays_and_frames_alike(self):
        made = [mmsim.Trace.from_arrays(self.PAGES, "a.mmt", write=self.WRITES)]
        pages = array.array("L", self.PAGES)
        made.append(mmsim.Trace.from_arrays(pages, "b.mmt", write=array.array("B", self.WRITES)))
        try:
            numpy, pyarrow = module("numpy"), module("pyarrow")
        except unittest.SkipTest:
            pass
        else:
            pages, writes = numpy.array(self.PAGES, dtype="i4"), numpy.array(self.WRITES)
            made.append(mmsim.Trace.from_arrays(pages, "c.mmt", write=writes))
            frame = pyarrow.table({"page": pages, "write": writes})
            made.append(mmsim.Trace.from_arrow(frame, "d.mmt"))
        files = {pathlib.Path(trace.path).read_bytes() for trace in made}
        self.assertEqual(len(files), 1)

    def test_times_are_arrivals(self):
        times = [i * 1000 for i in range(2000)]
        trace = mmsim.Trace.from_arrays(self.PAGES[:2000], "t.mmt", time_ns=times)
        run = json.loads(self.scenario(trace).run().to_json())["runs"][0]
        self.assertGreaterEqual(run["sim_time_ns"], times[-1])

    def test_frames_of_another_schema(self):
        pyarrow = module("pyarrow")
        for columns in [
            {"pages": [1]},
            {"page": [1], "size": [1]},
            {"page": ["a"]},
            {"page": [1.5]},
            {"page": [1, None]},
            {"page": [-1]},
        ]:
            with self.assertRaises(mmsim.SchemaError):
                mmsim.Trace.from_arrow(pyarrow.table(columns), "t.mmt")
        self.assertEqual(os.listdir("."), [], "nothing half-written is left")


class Sweeps(InFolder):
    def setUp(self):
        super().setUp()
        self.write("small.toml", SMALL)
        self.write("plan.toml", PLAN)

    def merged(self):
        self.assertEqual(command("sweep", "plan.toml", "--store", "of-command")[0], 0)
        merge = ["sweep", "merge", "plan.toml", "--store", "of-command", "--format"]
        return [command(*merge, form)[1] for form in ("json", "tidy")]

    def test_threads_and_processes_give_the_bytes_of_the_command(self):
        json_, tidy = self.merged()
        for name, executor in [
            ("threads", futures.ThreadPoolExecutor(2)),
            ("processes", futures.ProcessPoolExecutor(2)),
        ]:
            told = []
            with executor:
                sweep = mmsim.sweep("plan.toml", name)
                store = sweep.map(executor, ahead=3, progress=lambda n, all: told.append(n))
            self.assertEqual((len(sweep), told), (18, list(range(1, 19))))
            self.assertEqual(store.to_json(), json_)
            self.assertEqual(store.to_csv(), tidy)
            self.assertEqual(len(store.runs), 18)
            self.assertIn("18 units", store.table())

    def test_it_goes_on_where_it_stopped(self):
        def stop(done, all):
            if done == 5:
                raise KeyboardInterrupt

        with futures.ThreadPoolExecutor(2) as executor:
            with self.assertRaises(KeyboardInterrupt):
                mmsim.sweep("plan.toml").map(executor, progress=stop)
            store = mmsim.Store(mmsim.SweepPlan("plan.toml"), "plan.sweep")
            self.assertEqual(len(store.missing), 13)
            with self.assertRaisesRegex(mmsim.OptionError, "13 of 18 units are missing"):
                store.to_json()
            store.close()
            store = mmsim.sweep("plan.toml").map(executor)
        self.assertEqual(store.to_json(), self.merged()[0])
        # The command takes what Python kept.
        code, out, _ = command("sweep", "merge", "plan.toml", "--format", "json")
        self.assertEqual((code, out), (0, store.to_json()))

    def test_a_plan_that_is_wrong(self):
        self.write("plan.toml", PLAN.replace("swappiness", "swapiness"))
        with self.assertRaises(mmsim.ScenarioError):
            with futures.ThreadPoolExecutor(1) as executor:
                mmsim.sweep("plan.toml").map(executor)


class Tunings(InFolder):
    def plan(self, low, high, figure="peak_resident"):
        pathlib.Path("box.toml").write_text(BOX)
        text = TUNING.replace("FROM", low).replace("TO", high).replace("peak_resident", figure)
        pathlib.Path("plan.toml").write_text(text)
        return "plan.toml"

    def test_advice(self):
        worse = mmsim.tune(self.plan("6MiB", "7MiB", "major-faults"))
        self.assertEqual(worse["advice"]["decision"], "change nothing")
        self.assertEqual([s["own"] for s in worse["front"]], [True])
        ended = []
        heard = lambda done, most: ended.append((done, most))  # noqa: E731
        better = mmsim.tune(self.plan("9MiB", "16MiB"), budget=25, jobs=1, progress=heard)
        self.assertEqual(better["advice"]["decision"], "change")
        worse = [moved["figure"] for moved in better["advice"]["settings"][0]["worse"]]
        self.assertEqual(worse, ["peak_resident"])
        self.assertTrue(ended and ended[-1][1] == 25, ended)

    def test_as_the_command(self):
        plan = self.plan("9MiB", "16MiB")
        code, out, _ = command("tune", plan, "--format", "json")
        self.assertEqual((code, json.loads(out)["tuning"]), (0, mmsim.tune(plan)))

    def test_errors(self):
        plan = self.plan("9MiB", "16MiB")
        with self.assertRaisesRegex(mmsim.InputError, "budget: 5 runs are fewer than 21"):
            mmsim.tune(plan, budget=5)

        def stop(done, most):
            raise KeyError("enough")

        with self.assertRaises(KeyError):
            mmsim.tune(plan, progress=stop)

if __name__ == "__main__":
    unittest.main()
