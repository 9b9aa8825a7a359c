"""mmsim, a discrete-event simulator of Linux-style memory management."""

from __future__ import annotations

from ._errors import (
    FileError,
    InputError,
    MmsimError,
    OptionError,
    RunError,
    ScenarioError,
    SchemaError,
)
from ._mmsim import (
    CacheExt,
    Comparison,
    Events,
    Folio,
    FolioList,
    Machine,
    Report,
    Scenario,
    Store,
    SweepPlan,
    System,
    Table,
    __version__,
    curve,
    read_events,
    tune,
)
from .daemon import Daemon, memcgs
from .policy import Policy
from .sweep import Sweep, sweep
from .trace import Trace

__all__ = [
    "CacheExt",
    "Comparison",
    "Daemon",
    "Events",
    "FileError",
    "Folio",
    "FolioList",
    "InputError",
    "Machine",
    "MmsimError",
    "OptionError",
    "Policy",
    "Report",
    "RunError",
    "Scenario",
    "ScenarioError",
    "SchemaError",
    "Store",
    "Sweep",
    "SweepPlan",
    "System",
    "Table",
    "Trace",
    "__version__",
    "curve",
    "memcgs",
    "read_events",
    "sweep",
    "tune",
]
