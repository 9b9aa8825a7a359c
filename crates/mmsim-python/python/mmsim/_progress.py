"""What ``progress=True`` shows."""

from __future__ import annotations

import sys


def line(done: int, all: int) -> None:
    """One line on standard error that is written anew."""
    end = "\n" if done == all else ""
    print(f"\rmmsim: {done} of {all} runs", end=end, file=sys.stderr, flush=True)
