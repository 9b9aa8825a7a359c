"""Bad input raises the right class, with the command's text."""

import pickle
import unittest

import mmsim
from support import SMALL, InFolder, command


class TextOfTheCommand(InFolder):
    def same(self, args, call, kind):
        code, out, err = command(*args)
        self.assertEqual((code, out), (2, ""), err)
        with self.assertRaises(kind) as caught:
            call()
        self.assertIs(type(caught.exception), kind)
        self.assertEqual(err.removeprefix("mmsim: ").rstrip("\n"), str(caught.exception))
        return caught.exception

    def test_a_key_that_there_is_not(self):
        self.write("bad.toml", SMALL.replace("accesses", "acesses"))
        e = self.same(["run", "bad.toml"], lambda: mmsim.Scenario("bad.toml"), mmsim.ScenarioError)
        self.assertEqual((e.file, e.line, e.column), ("bad.toml", 5, 48))
        self.assertIn("accesses", str(e))
        self.assertNotIn("\n", e.title)

    def test_no_toml(self):
        self.write("bad.toml", "machine = {")
        self.same(["run", "bad.toml"], lambda: mmsim.Scenario("bad.toml"), mmsim.ScenarioError)

    def test_a_file_that_there_is_not(self):
        self.same(["run", "no.toml"], lambda: mmsim.Scenario("no.toml"), mmsim.FileError)

    def test_a_knob_that_there_is_not(self):
        self.write("small.toml", SMALL)
        scenario = mmsim.Scenario("small.toml")
        for key, value in [("machine.vm.swapiness", 10), ("machine.memory", 7)]:
            args = ["run", "small.toml", "--set", f"{key}={value}"]
            self.same(args, lambda: scenario.set(key, value), mmsim.OptionError)

    def test_variants_and_axes_that_there_are_not(self):
        self.write("small.toml", SMALL)
        run = mmsim.Scenario("small.toml").run
        option = mmsim.OptionError
        self.same(["run", "small.toml", "--variant", "v6.1"], lambda: run(variants="v6.1"), option)
        self.same(["run", "small.toml", "--at", "x=1"], lambda: run(at={"x": 1}), option)

    def test_a_report_of_another_schema(self):
        report = mmsim.Scenario.from_text(SMALL).run(seeds=1).to_json()
        self.write("r.json", report.replace('"schema": 1', '"schema": 7', 1))
        args = ["show", "r.json"]
        self.same(args, lambda: mmsim.Report.read("r.json"), mmsim.SchemaError)


class Classes(unittest.TestCase):
    def test_wrong_types(self):
        scenario = mmsim.Scenario.from_text(SMALL)
        for call in [
            lambda: mmsim.Scenario(7),
            lambda: mmsim.Scenario.from_dict({"machine": object()}),
            lambda: mmsim.Scenario.from_dict({1: 2}),
            lambda: scenario.run(seeds="12"),
            lambda: scenario.run(seeds=True),
            lambda: scenario.run(seeds=[1.5]),
            lambda: scenario.run(variants=3),
            lambda: scenario.run(progress=3),
            lambda: scenario.run(series=[]),
            lambda: scenario.run(policies=[int]),
            lambda: scenario.set("machine.memory", None),
            lambda: scenario.machine(variant="v6.12", seed="1"),
            lambda: mmsim.Trace.from_arrow([1], "t.mmt"),
            lambda: mmsim.Trace.from_arrays(["a"], "t.mmt"),
        ]:
            with self.assertRaises(TypeError):
                call()

    def test_wrong_values(self):
        scenario = mmsim.Scenario.from_text(SMALL)
        for call in [
            lambda: scenario.run(seeds=0),
            lambda: scenario.run(seeds=[1, 1]),
            lambda: scenario.run(seeds=1 << 31),
            lambda: scenario.run(variants=[]),
            lambda: scenario.run(series="1ms", columns=[]),
            lambda: scenario.run(jobs=0),
            lambda: scenario.run(columns=["pswpin"]),
            lambda: scenario.run(series=0),
            lambda: scenario.run(series=-1),
            lambda: scenario.set("machine.memory", 1 << 70),
            lambda: scenario.run(seeds=1).series,
            lambda: mmsim.Trace.from_arrays([], "t.mmt"),
            lambda: mmsim.Trace.from_arrays([-1], "t.mmt"),
            lambda: mmsim.Trace.from_arrays([1, 2], "t.mmt", write=[True]),
        ]:
            with self.assertRaises(ValueError):
                call()

    def test_options(self):
        scenario = mmsim.Scenario.from_text(SMALL)
        report = scenario.run(seeds=1)
        for call in [
            lambda: scenario.run(series="10"),
            lambda: scenario.run(series="1ms", columns="pswpinn"),
            lambda: report.compare("v5.9", "v6.1"),
            lambda: report.table(by="x"),
            lambda: scenario.machine(),
            lambda: scenario.machine(variant="x"),
        ]:
            with self.assertRaises(mmsim.OptionError):
                call()

    def test_errors_go_from_process_to_process(self):
        with self.assertRaises(mmsim.ScenarioError) as caught:
            mmsim.Scenario.from_text("x = 1", "a.toml")
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual((str(again), again.line), (str(caught.exception), 1))
        self.assertTrue(issubclass(mmsim.ScenarioError, mmsim.MmsimError))


if __name__ == "__main__":
    unittest.main()
