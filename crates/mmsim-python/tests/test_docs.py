"""Blocks of Python in documents do what they say, and every public name has a type and a doc."""

import ast
import doctest
import os
import pathlib
import re
import unittest

import mmsim
from support import ROOT, InFolder

DOCUMENTS = ["README.md", "docs/python.md", "crates/mmsim-python/README.md"]


def blocks(text):
    return re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)


class Documents(InFolder):
    def test_blocks_print_what_stands_below_them(self):
        folder = os.getcwd()
        for name in DOCUMENTS:
            text = (ROOT / name).read_text(encoding="utf-8")
            found = [block for block in blocks(text) if block.startswith(">>> ")]
            self.assertTrue(found, name)
            globals_ = {}
            # Paths are those of the tree; what is written lands in a folder of the test.
            for entry in ("scenarios", "traces", "examples"):
                if not os.path.lexists(entry):
                    os.symlink(ROOT / entry, pathlib.Path(folder) / entry)
            for i, block in enumerate(found):
                test = doctest.DocTestParser().get_doctest(block, globals_, f"{name}#{i}", name, 0)
                said = []
                runner = doctest.DocTestRunner(
                    optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
                )
                failed, tried = runner.run(test, out=said.append, clear_globs=False)
                self.assertEqual((failed, tried > 0), (0, True), "".join(said))
                globals_ = test.globs

    def test_the_tree_shows_five_lines(self):
        block = next(b for b in blocks((ROOT / "README.md").read_text()) if ">>> " in b)
        self.assertEqual(block.count(">>> "), 5)


class Names(unittest.TestCase):
    def test_the_stub_has_every_public_name(self):
        stub = (pathlib.Path(mmsim.__file__).parent / "_mmsim.pyi").read_text()
        classes = {n.name: n for n in ast.parse(stub).body if isinstance(n, ast.ClassDef)}
        for name in mmsim._mmsim.__all__:
            thing = getattr(mmsim._mmsim, name)
            if not isinstance(thing, type):
                self.assertIn(name, stub)
                continue
            body = classes[name].body
            typed = {n.name for n in body if isinstance(n, ast.FunctionDef)}
            typed |= {n.target.id for n in body if isinstance(n, ast.AnnAssign)}
            there = {n for n in vars(thing) if not n.startswith("__")} | {
                n
                for n in vars(thing)
                if n.startswith(("__arrow", "__len", "__iter", "__next"))
            }
            self.assertEqual(there, typed - {"__new__"}, name)

    def test_every_public_name_has_a_doc(self):
        for name in mmsim.__all__:
            self.assertTrue(getattr(mmsim, name).__doc__, name)
        self.assertEqual(sorted(mmsim.__all__), mmsim.__all__)


if __name__ == "__main__":
    unittest.main()
