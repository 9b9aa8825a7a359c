"""What a run costs in Python, beside the command: processor time of whole processes, in turn.

    MMSIM_COMMAND=... python tests/cost.py
"""

import os
import resource
import statistics
import subprocess
import sys

from support import COMMAND, ROOT

SCENARIO = ROOT / "scenarios" / "zipf-anon.toml"
SET = ("task[0].accesses", "4000000")
TURNS = 7

PROGRAM = f"""
import sys, mmsim
r = mmsim.Scenario({str(SCENARIO)!r}).set({SET[0]!r}, {SET[1]!r}).run(variants="v6.12", seeds=1, jobs=1)
sys.stdout.write(r.to_json())
"""


def seconds(args):
    """Processor time of a process, and its output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(args, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 1), done.stderr
    user = after.ru_utime - before.ru_utime
    return user + after.ru_stime - before.ru_stime, done.stdout


def main():
    command = [COMMAND, "run", str(SCENARIO), "--set", "=".join(SET), "--variant", "v6.12"]
    command += ["--seeds", "1", "--jobs", "1", "--format", "json"]
    ratios, took = [], []
    start = min(seconds([sys.executable, "-c", "import mmsim"])[0] for _ in range(TURNS))
    for _ in range(TURNS):
        (a, of_command), (b, of_python) = seconds(command), seconds([sys.executable, "-c", PROGRAM])
        assert of_command == of_python, "the reports differ"
        ratios.append((b - start) / a)
        took.append((a, b))
    ratio = statistics.median(ratios)
    a, b = (statistics.median(side) for side in zip(*took))
    print(f"command {a:.2f} s, Python {b:.2f} s of CPU, of which it takes {start:.2f} s to start;")
    print(f"without that {100 * (ratio - 1):+.1f} %, median of {TURNS} turns; reports are equal")
    if os.environ.get("MMSIM_PYTHON_ALL"):
        assert ratio < 1.01, "more than 1 % above the command"


if __name__ == "__main__":
    main()
