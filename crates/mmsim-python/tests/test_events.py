"""Files of events."""

import json
import unittest

import mmsim
from support import SMALL, InFolder, command


class Events(InFolder):
    def setUp(self):
        super().setUp()
        self.write("small.toml", SMALL)
        self.write_events("e.mmev")

    def write_events(self, name, *more):
        run = ["run", "small.toml", "--seeds", "1", "--events", name, "-o", "report", *more]
        code, _, said = command(*run)
        self.assertEqual(code, 0, said)

    def test_events_are_the_lines_of_the_command(self):
        _, lines, _ = command("events", "e.mmev")
        lines = [json.loads(line) for line in lines.splitlines()]
        self.assertEqual(list(mmsim.read_events("e.mmev")), lines)
        self.assertEqual([list(event) for event in lines][0][:2], ["t_ns", "event"])
        wanted = "kind=sim_evict,pages=100-900"
        few = list(mmsim.read_events("e.mmev", wanted))
        some = [e for e in lines if e["event"] == "sim_evict" and 100 <= e["page"] <= 900]
        self.assertEqual(few, some)
        self.assertGreater(len(few), 10)

    def test_a_kind_is_a_table(self):
        for kind in ["sim_evict", "page_fault_user", "sim_shrink_lruvec"]:
            table = mmsim.read_events("e.mmev").table(kind).to_pydict()
            events = [e for e in mmsim.read_events("e.mmev") if e["event"] == kind]
            self.assertGreater(len(events), 10, kind)
            for name, column in table.items():
                first, _, nth = name.rpartition("_")
                of = (lambda e: e[first][int(nth)]) if nth.isdigit() else (lambda e: e[name])
                self.assertEqual(column, [of(e) for e in events], name)
        none = mmsim.read_events("e.mmev").table("mark_victim")
        self.assertEqual((len(none), none.column_names), (0, ["t_ns", "process", "pages", "run"]))

    def test_what_is_cut_off_is_read_to_its_last_block(self):
        with open("e.mmev", "rb") as file:
            whole = file.read()
        with open("cut.mmev", "wb") as file:
            file.write(whole[: len(whole) - 5])
        all_events = list(mmsim.read_events("e.mmev"))
        seen = []
        with self.assertRaisesRegex(mmsim.FileError, "found the end"):
            for event in mmsim.read_events("cut.mmev"):
                seen.append(event)
        self.assertGreater(len(seen), 100)
        self.assertEqual(seen, all_events[: len(seen)])

    def test_what_is_wrong_is_said(self):
        self.write("e.jsonl", '{"t_ns":5,"event":"sim_evict"}\n')
        with self.assertRaisesRegex(mmsim.FileError, "JSON lines of events"):
            mmsim.read_events("e.jsonl")
        with self.assertRaisesRegex(mmsim.FileError, "no such file"):
            mmsim.read_events("nothing.mmev")
        with self.assertRaisesRegex(mmsim.OptionError, "did you mean `sim_evict`"):
            mmsim.read_events("e.mmev", "kind=sim_evicted")
        with self.assertRaisesRegex(mmsim.OptionError, "did you mean `sim_evict`"):
            mmsim.read_events("e.mmev").table("sim_evicted")
        with self.assertRaisesRegex(mmsim.OptionError, "no run of e.mmev has a task"):
            list(mmsim.read_events("e.mmev", "task=nobody"))


if __name__ == "__main__":
    unittest.main()
