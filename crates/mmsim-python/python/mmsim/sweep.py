"""Sweeps over any executor of ``concurrent.futures``."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait

from . import _mmsim

__all__ = ["Sweep", "sweep"]


# The plan that this process read last, and the time of its file.
_last: dict[str, tuple[int, _mmsim.SweepPlan]] = {}


def _make(path: str, unit: int) -> str:
    """One unit, in whatever process the executor has: its report as JSON."""
    changed = os.stat(path).st_mtime_ns
    known = _last.get(path)
    if known is None or known[0] != changed:
        known = (changed, _mmsim.SweepPlan(path))
        _last.clear()
        _last[path] = known
    return known[1].make(unit)


class Sweep:
    """A plan and its store. :func:`sweep` makes one."""

    plan: _mmsim.SweepPlan
    path: str

    def __init__(self, plan: _mmsim.SweepPlan, store: str) -> None:
        self.plan = plan
        self.path = store

    def __len__(self) -> int:
        return len(self.plan)

    def map(
        self,
        executor: Executor,
        *,
        ahead: int = 64,
        progress: Callable[[int, int], object] | None = None,
    ) -> _mmsim.Store:
        """Makes the units that the store lacks on an executor, and keeps each as it ends.

        Units are made from the plan's file, so other hosts need the file under the same path.
        ``ahead`` units wait at the executor at a time. ``progress`` is called with the units that
        have ended and all that were to do. The store has the bytes of ``mmsim sweep merge``,
        whatever the executor and its order were. The same call goes on where another stopped.
        """
        if ahead < 1:
            raise ValueError("ahead: at least 1")
        store = _mmsim.Store(self.plan, self.path)
        missing = store.missing
        path = os.path.abspath(self.plan.path)
        left = iter(missing)
        running: dict[Future[str], int] = {}
        ended = 0
        try:
            while True:
                for unit in left:
                    running[executor.submit(_make, path, unit)] = unit
                    if len(running) >= ahead:
                        break
                if not running:
                    break
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    store.keep(running.pop(future), future.result())
                    ended += 1
                    if progress is not None:
                        progress(ended, len(missing))
        finally:
            for future in running:
                future.cancel()
            store.close()
        return store


def sweep(plan: str | os.PathLike[str], store: str | os.PathLike[str] | None = None) -> Sweep:
    """The sweep of a plan's file. The store is a folder; without one it is the command's."""
    path = os.fspath(plan)
    default = os.path.splitext(path)[0] + ".sweep"
    return Sweep(_mmsim.SweepPlan(path), default if store is None else os.fspath(store))
