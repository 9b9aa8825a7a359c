"""Executes the notebooks of this folder, and says whether what they printed is still what they print.

    python run_notebooks.py [--write]
"""

from __future__ import annotations

import pathlib
import sys

import nbformat
from nbclient import NotebookClient


def texts(notebook: nbformat.NotebookNode) -> list[str]:
    """What each cell printed or gave."""
    outs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    return [out.get("text") or out.get("data", {}).get("text/plain", "") for out in outs]


def main() -> None:
    write = "--write" in sys.argv
    for path in sorted(pathlib.Path(__file__).parent.glob("*.ipynb")):
        before = nbformat.read(path, as_version=4)
        after = nbformat.read(path, as_version=4)
        NotebookClient(after, timeout=600, record_timing=False).execute()
        if write:
            after.metadata.pop("widgets", None)
            after.metadata["language_info"] = {"name": "python"}
            nbformat.write(after, path)
        elif texts(before) != texts(after):
            sys.exit(f"{path.name} prints other things: {texts(after)}")
        print(path.name, len(texts(after)), "outputs")


if __name__ == "__main__":
    main()
