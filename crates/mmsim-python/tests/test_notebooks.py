"""Notebooks of examples/: their cells run in order, without Jupyter, and give what they show.

`MMSIM_BLESS=1 cargo test -p mmsim-python` writes the outputs anew, to be read as a difference.
"""

import ast
import contextlib
import io
import json
import os
import unittest

from support import ROOT, InFolder

FOLDER = ROOT / "crates/mmsim-python/examples"
GALLERY = ["damon_what_if.ipynb", "miss_ratio.ipynb", "policies.ipynb"]


def execute(source, names):
    """What a cell prints, and the value of its last line, as Jupyter shows both."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "a cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "it", "eval"), names)
    outputs = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": text})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        outputs.append({"data": data, "metadata": {}, "output_type": "execute_result"})
    return outputs


class Notebooks(InFolder):
    maxDiff = None

    def test_the_gallery_is_what_is_tested(self):
        self.assertEqual(sorted(path.name for path in FOLDER.glob("*.ipynb")), GALLERY)

    def test_cells_give_what_they_show(self):
        for name in GALLERY:
            text = (FOLDER / name).read_text(encoding="utf-8")
            notebook, names, count = json.loads(text), {}, 0
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    count += 1
                    cell["execution_count"] = count
                    cell["outputs"] = execute("".join(cell["source"]), names)
                    for output in cell["outputs"]:
                        if "data" in output:
                            output["execution_count"] = count
            new = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
            self.assertNotIn(os.getcwd(), new, "no output names a folder of this machine")
            if os.environ.get("MMSIM_BLESS"):
                (FOLDER / name).write_text(new, encoding="utf-8")
            else:
                self.assertEqual(text, new, name)


if __name__ == "__main__":
    unittest.main()
