"""Runs have the bytes of the command, and Python stays awake meanwhile."""

import _thread
import json
import signal
import threading
import time
import unittest

import mmsim
from support import GROUP, ROOT, SMALL, InFolder, command


class Bytes(InFolder):
    def test_a_report_has_the_bytes_of_the_command(self):
        self.write("small.toml", SMALL)
        code, out, _ = command("run", "small.toml", "--format", "json")
        self.assertEqual(code, 0)
        report = mmsim.Scenario("small.toml").run()
        self.assertEqual(report.to_json(), out)
        self.assertEqual(len(set(report.digests)), 4)
        self.assertEqual(repr(report), command("run", "small.toml")[1])
        self.assertEqual(report.to_csv(), command("run", "small.toml", "--format", "csv")[1])

    def test_so_has_a_shipped_one_with_what_is_said_on_the_command_line(self):
        path = ROOT / "scenarios" / "zipf-anon.toml"
        said = ["--set", "task[0].accesses=20000", "--seed", "5", "--seeds", "2"]
        said += ["--variant", "v6.12", "--at", "task[0].theta=0.9"]
        code, out, _ = command("run", path, *said, "--format", "json")
        self.assertIn(code, (0, 1))
        scenario = mmsim.Scenario(path).set("task[0].accesses", 20000)
        at = {"task[0].theta": 0.9}
        report = scenario.run(seeds=[5, 6], variants="v6.12", at=at, jobs=2, check=True)
        self.assertEqual(report.to_json(), out)

    def test_observers_and_jobs_change_nothing(self):
        scenario = mmsim.Scenario.from_text(SMALL, "small.toml")
        plain = scenario.run(jobs=1).to_json()
        seen = scenario.run(pictures=True, series="1ms", progress=lambda done, all: None)
        self.assertEqual(seen.to_json(), plain)

    def test_a_page_has_the_bytes_of_the_command(self):
        self.write("small.toml", SMALL)
        code, _, _ = command("run", "small.toml", "--html", "page.html")
        self.assertEqual(code, 0)
        page = mmsim.Scenario("small.toml").run(pictures=True).page()
        with open("page.html", encoding="utf-8") as file:
            self.assertEqual(page, file.read())

    def test_jupyter_gets_the_page_in_a_frame_that_reaches_nothing(self):
        report = mmsim.Scenario.from_text(SMALL).run(seeds=1)
        frame = report._repr_html_()
        self.assertTrue(frame.startswith('<iframe sandbox="allow-scripts" srcdoc="'))
        self.assertEqual(frame.count('"'), 8, "no quote of the page ends the attribute")
        import html

        page = html.unescape(frame.split('srcdoc="')[1].split('"')[0])
        self.assertEqual(page, report.page())

    def test_a_dict_is_the_text(self):
        text = mmsim.Scenario.from_text(SMALL, "small.toml").run(seeds=1)
        keys = {
            "name": "small",
            "machine": {"memory": "8MiB", "swap": {"size": "64MiB", "device": "zram"}},
            "task": [
                {"workload": "zipf", "memory": "12MiB", "accesses": 20000, "write-permille": 300}
            ],
            "variant": [{"name": "v5.9", "kernel": "5.9"}, {"name": "v6.12", "kernel": "6.12"}],
        }
        report = mmsim.Scenario.from_dict(keys).run(seeds=1)
        self.assertEqual(report.digests, text.digests)

    def test_seeds_that_do_not_follow_one_another(self):
        scenario = mmsim.Scenario.from_text(SMALL).set("variant", [{"name": "v6.12"}])
        two = scenario.run(seeds=(7, 3)).digests
        self.assertEqual(two, [scenario.run(seeds=[n]).digests[0] for n in (7, 3)])
        self.assertEqual(scenario.run(seeds=range(1, 3)).digests, scenario.run(seeds=2).digests)

    def test_a_report_is_read_back(self):
        report = mmsim.Scenario.from_text(SMALL).run(seeds=1)
        self.write("r.json", report.to_json())
        self.assertEqual(mmsim.Report.read("r.json").to_json(), report.to_json())
        self.assertEqual(repr(mmsim.Report.from_json(report.to_json())), repr(report))


class Awake(unittest.TestCase):
    """A run of some seconds leaves Python to others, and ends when it is told to."""

    LONG = mmsim.Scenario.from_text(GROUP).set("task[0].accesses", 4_000_000_000)

    def test_others_run_and_ctrl_c_ends_it(self):
        # A shell that starts this in the background has it ignore Ctrl-C.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        ticks = []

        def interrupt():
            for _ in range(20):
                time.sleep(0.01)
                ticks.append(1)
            _thread.interrupt_main()

        threading.Thread(target=interrupt).start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            self.LONG.run()
        self.assertEqual(len(ticks), 20)
        self.assertLess(time.monotonic() - begin, 30)

    def test_an_exception_of_the_progress_function_ends_it(self):
        def progress(done, all):
            raise RuntimeError(f"{done} of {all}")

        with self.assertRaisesRegex(RuntimeError, "0 of 1"):
            self.LONG.run(progress=progress)

    def test_progress_is_told_to_the_end(self):
        told = []
        mmsim.Scenario.from_text(SMALL).run(progress=lambda done, all: told.append((done, all)))
        self.assertEqual(told[-1], (4, 4))
        self.assertEqual(told, sorted(told))


class Comparisons(InFolder):
    def test_two_variants_beside_each_other(self):
        report = mmsim.Scenario.from_text(SMALL).run()
        for name in ("v5.9", "v6.12"):
            one = mmsim.Scenario.from_text(SMALL).run(variants=name)
            self.write(f"{name}.json", one.to_json())
        code, out, _ = command("compare", "v5.9.json", "v6.12.json", "--format", "json")
        self.assertEqual(code, 0)
        a, b = json.loads(report.compare("v5.9", "v6.12").to_json()), json.loads(out)
        self.assertEqual(a["comparisons"], b["comparisons"])
        values = report.compare("v5.9", "v6.12").values.to_pydict()
        self.assertEqual(len(values["name"]), len(a["comparisons"][0]["values"]))

    def test_why_is_that_of_the_command(self):
        self.write("small.toml", SMALL)
        said = ["--variants", "v5.9,v6.12", "--format", "json"]
        code, out, err = command("why", "small.toml", *said)
        self.assertEqual(code, 0, err)
        difference = mmsim.Scenario("small.toml").why("v5.9", "v6.12")
        self.assertEqual(difference, json.loads(out)["differences"][0])


if __name__ == "__main__":
    unittest.main()
