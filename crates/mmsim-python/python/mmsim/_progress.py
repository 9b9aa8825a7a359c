"""What runs show meanwhile, and how Ctrl-C reaches them."""

from __future__ import annotations

import sys


def line(done: int, all: int) -> None:
    """One line on standard error that is written anew."""
    end = "\n" if done == all else ""
    print(f"\rmmsim: {done} of {all} runs", end=end, file=sys.stderr, flush=True)


def interrupt(thread: int) -> None:
    """Raises KeyboardInterrupt in the Python code that another thread runs."""
    import ctypes

    raises = ctypes.pythonapi.PyThreadState_SetAsyncExc
    raises(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
