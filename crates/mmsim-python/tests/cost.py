"""What a run costs in Python, beside the command: instructions of whole processes by callgrind,
or processor time in turn where there is no valgrind.

    MMSIM_COMMAND=... python tests/cost.py
"""

import os
import re
import resource
import shutil
import statistics
import subprocess
import sys

from support import COMMAND, ROOT

SCENARIO = ROOT / "scenarios" / "zipf-anon.toml"
KEY = "task[0].accesses"
TURNS = 7

PROGRAM = f"""
import sys, mmsim
scenario = mmsim.Scenario({str(SCENARIO)!r}).set({KEY!r}, sys.argv[1])
sys.stdout.write(scenario.run(variants="v6.12", seeds=1, jobs=1).to_json())
"""


def command(accesses):
    run = [COMMAND, "run", str(SCENARIO), "--set", f"{KEY}={accesses}", "--variant", "v6.12"]
    return run + ["--seeds", "1", "--jobs", "1", "--format", "json"]


def python(accesses):
    return [sys.executable, "-c", PROGRAM, accesses]


START = [sys.executable, "-c", "import mmsim"]


def seconds(args):
    """Processor time of a process, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(args, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 1), done.stderr
    user = after.ru_utime - before.ru_utime
    return user + after.ru_stime - before.ru_stime, done.stdout


def instructions(args):
    """Instructions of a process, and its output."""
    counted = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    done = subprocess.run(counted + args, capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return int(re.search(rb"Collected : (\d+)", done.stderr).group(1)), done.stdout


def by_instructions():
    """Instructions of Python over those of the command."""
    (a, of_command), (b, of_python) = (instructions(of("800000")) for of in (command, python))
    assert of_command == of_python, "the reports differ"
    start = instructions(START)[0]
    print(f"command {a:,} instructions, Python {b:,}, of which it takes {start:,} to start")
    return (b - start) / a


def by_time():
    """Processor time of Python over that of the command."""
    ratios, took = [], []
    start = statistics.median(seconds(START)[0] for _ in range(TURNS))
    for _ in range(TURNS):
        (a, of_command), (b, of_python) = (seconds(of("4000000")) for of in (command, python))
        assert of_command == of_python, "the reports differ"
        ratios.append((b - start) / a)
        took.append((a, b))
    a, b = (statistics.median(side) for side in zip(*took))
    print(f"command {a:.2f} s, Python {b:.2f} s of CPU, of which it takes {start:.2f} s to start")
    print(f"median of {TURNS} turns, which vary by {min(ratios):.2f} to {max(ratios):.2f}")
    return statistics.median(ratios)


def main():
    ratio = by_instructions() if shutil.which("valgrind") else by_time()
    print(f"without the start {100 * (ratio - 1):+.1f} %; reports are equal")
    if os.environ.get("MMSIM_PYTHON_ALL"):
        assert ratio < 1.01, "more than 1 % above the command"


if __name__ == "__main__":
    main()
