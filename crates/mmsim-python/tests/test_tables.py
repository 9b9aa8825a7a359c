"""Tables reach data frames by the Arrow PyCapsule protocol, without copies."""

import json
import unittest

import mmsim
from support import GROUP, SMALL, module


def report():
    return mmsim.Scenario.from_text(SMALL).run(series="1ms")


class Tables(unittest.TestCase):
    def test_counters_are_those_of_the_report(self):
        r = report()
        rows = r.counters.to_pydict()
        found = {
            (rows["variant"][i], rows["seed"][i], rows["counter"][i]): rows["value"][i]
            for i in range(len(r.counters))
            if rows["phase"][i] is None
        }
        runs = json.loads(r.to_json())["runs"]
        expected = {
            (run["variant"], run["seed"], name): value
            for run in runs
            for name, value in run["vmstat"].items()
        }
        self.assertEqual(found, expected)
        self.assertTrue(any(value for value in found.values()))

    def test_runs_have_axes_knobs_and_digests(self):
        r = mmsim.Scenario.from_text(SMALL).set("axes", {"task[0].theta": [0.5, 0.9]}).run(seeds=1)
        rows = r.runs.to_pydict()
        self.assertEqual(rows["digest"], r.digests)
        self.assertEqual(rows["task[0].theta"], [0.5, 0.5, 0.9, 0.9])
        self.assertEqual(rows["variant"], ["v5.9", "v6.12"] * 2)
        self.assertEqual(set(rows["vm.swappiness"]), {60.0})

    def test_a_curve_has_a_row_for_each_size_and_policy(self):
        scenario = mmsim.Scenario.from_text(SMALL).set("seeds", 1)
        r = mmsim.curve(scenario, memory="100%,150%,200%", by="swap-ins", jobs=2)
        rows = r.runs.to_pydict()
        self.assertEqual(len(r.runs), 3 * len(scenario.variants))
        swap_ins = [n for n, v in zip(rows["pswpin"], rows["variant"]) if v == "v6.12"]
        self.assertEqual(sorted(swap_ins, reverse=True), swap_ins)
        self.assertEqual(r.digests, mmsim.curve(scenario, memory="100%,150%,200%", jobs=1).digests)
        with self.assertRaisesRegex(mmsim.OptionError, "points: the sizes are given"):
            mmsim.curve(scenario, memory="50%,100%", points=4)
        with self.assertRaisesRegex(mmsim.OptionError, "memory: write pages"):
            mmsim.curve(scenario, memory="much")
        with self.assertRaisesRegex(mmsim.FileError, "nowhere.mmt"):
            mmsim.curve("nowhere.mmt")

    def test_axes_of_quantities_are_numbers_too(self):
        axes = {"task[0].memory": ["8MiB", "12MiB"], "machine.tick": ["1ms", "10ms"]}
        r = mmsim.Scenario.from_text(SMALL).set("axes", axes).run(seeds=1, series="10ms")
        for table in (r.runs, r.counters, r.series):
            rows = table.to_pydict()
            numbers = {"8MiB": 8 << 20, "12MiB": 12 << 20}
            texts = rows["task[0].memory"]
            self.assertEqual(rows["task[0].memory_bytes"], [numbers[text] for text in texts])
            self.assertEqual(set(rows["machine.tick_ns"]), {1_000_000, 10_000_000})

    def test_bytes_that_are_no_whole_numbers(self):
        with self.assertRaisesRegex(ValueError, "^page has 3 bytes, which are no values of 8$"):
            mmsim.Table.from_whole({"page": b"123"})

    def test_series_end_as_the_run_did(self):
        r = report()
        rows = r.series.to_pydict()
        runs = json.loads(r.to_json())["runs"]
        last = {}
        for i in range(len(r.series)):
            last[rows["variant"][i], rows["seed"][i]] = i
        for run in runs:
            i = last[run["variant"], run["seed"]]
            self.assertEqual(rows["time_ns"][i], run["sim_time_ns"])
            self.assertEqual(rows["pswpin"][i], run["vmstat"]["pswpin"])
            self.assertEqual(rows["nr_free_pages"][i], run["gauges"]["nr_free_pages"])

    def test_only_the_columns_that_are_wanted(self):
        scenario = mmsim.Scenario.from_text(SMALL)
        r = scenario.run(seeds=1, series="1ms", columns=["pswpin", "nr_free_pages"])
        names = ["variant", "seed", "time_ns", "pswpin", "nr_free_pages"]
        self.assertEqual(r.series.column_names, names)


class Frames(unittest.TestCase):
    """Each of these is a package that need not be there."""

    def test_pyarrow(self):
        pyarrow = module("pyarrow")
        r = report()
        for table in (r.counters, r.runs, r.series):
            arrow = pyarrow.table(table)
            arrow.validate(full=True)
            self.assertEqual(arrow.num_rows, len(table))
            self.assertEqual(arrow.to_pydict(), table.to_pydict())
            batch = pyarrow.record_batch(table)
            self.assertEqual(batch.schema, pyarrow.schema(table))

    def test_polars(self):
        polars = module("polars")
        r = report()
        frame = polars.DataFrame(r.counters)
        self.assertEqual(frame["value"].to_list(), r.counters.to_pydict()["value"])

    def test_pandas(self):
        pandas = module("pandas")
        module("pyarrow")
        r = report()
        frame = pandas.DataFrame.from_arrow(r.runs)
        self.assertEqual(list(frame["digest"]), r.digests)

    def test_duckdb(self):
        duckdb = module("duckdb")
        r = report()
        counters = r.counters  # noqa: F841 (the query names it)
        sql = "select sum(value) from counters where counter = 'pswpin' and phase is null"
        total = sum(run["vmstat"]["pswpin"] for run in json.loads(r.to_json())["runs"])
        self.assertEqual(duckdb.sql(sql).fetchall(), [(total,)])

    def test_a_million_rows_are_not_copied(self):
        pyarrow = module("pyarrow")
        scenario = mmsim.Scenario.from_text(GROUP).set("task[0].accesses", 1_200_000)
        end = json.loads(scenario.run().to_json())["runs"][0]["sim_time_ns"]
        columns = ["pswpin", "nr_free_pages"]
        every = end / 1_050_000 / 1e9
        series = scenario.run(series=every, columns=columns).series
        self.assertGreaterEqual(len(series), 1_000_000)
        before = pyarrow.total_allocated_bytes()
        first, second = pyarrow.table(series), pyarrow.table(series)
        for name in ["time_ns", "seed", *columns]:
            addresses = {t[name].chunk(0).buffers()[1].address for t in (first, second)}
            self.assertEqual(len(addresses), 1, name)
        self.assertEqual(pyarrow.total_allocated_bytes(), before)
        try:
            polars = module("polars")
        except unittest.SkipTest:
            return
        column = polars.DataFrame(series)["pswpin"].to_arrow()
        here = first["pswpin"].chunk(0).buffers()[1].address
        self.assertEqual(column.buffers()[1].address, here)


if __name__ == "__main__":
    unittest.main()
