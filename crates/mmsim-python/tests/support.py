"""What the tests share."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
# The command that Python is held against. `tools/python-check` sets it.
COMMAND = os.environ.get("MMSIM_COMMAND", "")
# Set where a package that is missing is a failure, and no reason to skip.
ALL = bool(os.environ.get("MMSIM_PYTHON_ALL"))

SMALL = """
name = "small"
seeds = 2
machine = { memory = "8MiB", swap = { size = "64MiB", device = "zram" } }
task = [{ workload = "zipf", memory = "12MiB", accesses = 20000, write-permille = 300 }]
variant = [{ name = "v5.9", kernel = "5.9" }, { name = "v6.12", kernel = "6.12" }]
"""

GROUP = """
name = "group"
[machine]
memory = "16MiB"
swap = { size = "64MiB", device = "zram" }
[[machine.memcg]]
name = "batch"
[[task]]
workload = "zipf"
memory = "8MiB"
accesses = 2000000
write-permille = 300
memcg = "batch"
"""


def command(*args, text=None):
    """What the command prints on standard output, and its exit code."""
    if not COMMAND:
        raise unittest.SkipTest("MMSIM_COMMAND names no mmsim to compare with")
    # Tables of a pipe have the usual width, as those of Python have.
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    args = [COMMAND, *map(str, args)]
    done = subprocess.run(args, input=text, capture_output=True, text=True, env=env)
    return done.returncode, done.stdout, done.stderr


def module(name):
    """A package that need not be there."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as e:
        if ALL:
            raise
        raise unittest.SkipTest(f"{name} is not installed") from e


class InFolder(unittest.TestCase):
    """Each test has a folder of its own, and is in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        before = os.getcwd()
        os.chdir(folder.name)
        self.addCleanup(os.chdir, before)

    def write(self, name, text):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
        return name
