"""Policies of cache_ext: modules run, and classes decide as modules of the same rules."""

import json
import unittest

import mmsim
from support import ROOT, InFolder

POLICIES = ROOT / "crates/mmsim-ext/policies"
SCENARIO = """
[machine]
memory = "32MiB"
kernel = "6.6"
[[machine.memcg]]
name = "g"
max = "1MiB"
[reclaim]
preset = "classic-v6.6"
[[task]]
name = "scan"
memcg = "g"
workload = "cyclic"
memory = "1280KiB"
region = "read"
passes = 2
[[task]]
name = "reads"
memcg = "g"
workload = "zipf"
memory = "1MiB"
region = "read"
accesses = 600
write-permille = 100
"""


class Mru(mmsim.CacheExt):
    """mru.bpf.c in Python."""

    def init(self):
        self.stack = self.new_list()

    def folio_added(self, folio):
        if folio.watched:
            self.stack.add(folio)

    def folio_accessed(self, folio):
        if folio.watched:
            self.stack.move(folio)

    def evict_folios(self, wanted):
        def offer(i, folio):
            return self.OFFER if folio.uptodate and folio.lru else self.CONTINUE

        self.stack.iterate(offer)


class Lfu(mmsim.CacheExt):
    """lfu.bpf.c in Python."""

    size = 4

    def init(self):
        self.line, self.uses = self.new_list(), {}

    def folio_added(self, folio):
        self.line.add(folio, tail=True)
        self.uses[folio] = 0

    def folio_accessed(self, folio):
        self.uses[folio] += 1

    def folio_evicted(self, folio):
        self.uses.pop(folio, None)

    def evict_folios(self, wanted):
        def score(folio):
            can_go = folio.uptodate and folio.lru and not folio.dirty and not folio.writeback
            return self.uses[folio] if can_go else (1 << 63) - 1

        try:
            self.line.sample(score, self.size)
        except ValueError:
            pass  # The list is too short.


def run(module, **how):
    keys = dict({"module": module}, **how.pop("keys", {}))
    scenario = mmsim.Scenario.from_text(SCENARIO, "s.toml")
    return scenario.set("machine.memcg[0].cache-ext", keys).run(**how)


def outcome(report):
    run = json.loads(report.to_json())["runs"][0]
    return run["digest"], {k: v for k, v in run["cache_ext"][0].items() if k != "tallies"}


class CacheExts(InFolder):
    def test_modules_run(self):
        for name in ["mru", "lfu"]:
            ran = outcome(run(str(POLICIES / f"{name}.wasm")))
            native = outcome(run(f"builtin:{name}"))
            self.assertEqual(ran[0], native[0])
            self.assertGreater(ran[1]["evicted"], 100)

    def test_a_class_is_the_module_that_says_the_same(self):
        module = outcome(run(str(POLICIES / "mru.wasm")))
        python = outcome(run("mru", cache_ext={"mru": Mru}))
        self.assertEqual(module, python)
        module = outcome(run("builtin:lfu", keys={"set": {"sample_size": 4}}))
        python = outcome(run("lfu", cache_ext={"lfu": Lfu}))
        for of in [module, python]:
            del of[1]["name"]
        self.assertEqual(module, python)
        self.assertGreater(python[1]["evicted"], 100)

    def test_runs_repeat_for_any_number_of_jobs(self):
        one = run("lfu", cache_ext={"lfu": Lfu}, seeds=3, jobs=1)
        two = run("lfu", cache_ext={"lfu": Lfu}, seeds=3, jobs=2)
        self.assertEqual(one.to_json(), two.to_json())

    def test_attributes_are_set(self):
        seen = set()

        class Sized(Lfu):
            def evict_folios(self, wanted):
                seen.add((self.size, self.max_pages, self.task in ("scan", "reads", None)))
                super().evict_folios(wanted)

        run("lfu", cache_ext={"lfu": Sized}, keys={"set": {"size": 2}})
        self.assertEqual(seen, {(2, 256, True)})
        with self.assertRaises(mmsim.ScenarioError) as failed:
            run("lfu", cache_ext={"lfu": Lfu}, keys={"set": {"sise": 2}})
        self.assertIn("the class has no attribute `sise`", str(failed.exception))

    def test_verbs_refuse(self):
        seen = []

        class Wrong(mmsim.CacheExt):
            def init(self):
                self.lists = [self.new_list() for _ in range(5)]
                with self.refused("five"):
                    self.new_list()

            def refused(self, what):
                test = unittest.TestCase()
                seen.append(what)
                return test.assertRaises((ValueError, RuntimeError))

            def folio_added(self, folio):
                self.lists[0].add(folio)
                if not hasattr(self, "kept"):
                    with self.refused("twice"):
                        self.lists[1].add(folio)
                    with self.refused("too early"):
                        self.offer(folio)
                    self.delete(folio)
                    with self.refused("not listed"):
                        self.delete(folio)
                    self.kept = folio
                    self.lists[0].add(folio)

            def evict_folios(self, wanted):
                def visit(i, folio):
                    if "in a callback" not in seen:
                        with self.refused("in a callback"):
                            self.lists[1].move(folio)
                    return self.OFFER if folio.lru else self.CONTINUE

                self.lists[0].iterate(visit, keep="tail")

            def folio_evicted(self, folio):
                self.gone = folio

            def folio_accessed(self, folio):
                if hasattr(self, "gone") and "gone" not in seen:
                    with self.refused("gone"):
                        self.lists[0].move(self.gone)

        run("wrong", cache_ext={"wrong": Wrong})
        refused = {"five", "twice", "too early", "not listed", "in a callback", "gone"}
        self.assertEqual(set(seen), refused)

    def test_what_a_class_raises_comes_out(self):
        class Fails(mmsim.CacheExt):
            def evict_folios(self, wanted):
                raise LookupError(f"{wanted} folios")

        with self.assertRaises(LookupError):
            run("fails", cache_ext={"fails": Fails})
        with self.assertRaises(mmsim.ScenarioError) as failed:
            run("other", cache_ext={"fails": Fails})
        self.assertIn("neither a class nor a file `other`", str(failed.exception))
        with self.assertRaises(TypeError):
            run("fails", cache_ext={"fails": dict})


if __name__ == "__main__":
    unittest.main()
