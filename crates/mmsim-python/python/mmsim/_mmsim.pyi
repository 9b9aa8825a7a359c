"""The compiled part of the package. ``mmsim`` has all of it that is public."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, final

from .daemon import Daemon
from .policy import Policy
from .trace import ArrowFrame

__all__ = [
    "__version__",
    "Table",
    "Scenario",
    "Report",
    "Comparison",
    "Machine",
    "System",
    "Folio",
    "FolioList",
    "CacheExt",
    "SweepPlan",
    "Store",
    "Events",
    "read_events",
    "write_trace",
    "curve",
    "tune",
]

__version__: str

_Path: TypeAlias = str | os.PathLike[str]
_Value: TypeAlias = str | int | float | bool | Sequence[Any] | dict[str, Any]
_Time: TypeAlias = str | float

@final
class Table:
    """A table of results.

    polars, pandas, pyarrow, DuckDB and others take it without a copy, by the Arrow PyCapsule
    protocol: ``polars.DataFrame(table)``, ``pyarrow.table(table)``.
    """

    @property
    def column_names(self) -> list[str]: ...
    @property
    def num_rows(self) -> int: ...
    def __len__(self) -> int: ...
    @staticmethod
    def from_whole(columns: dict[str, bytes]) -> Table:
        """A table of whole numbers: 64-bit little-endian bytes for each column."""
    def to_pydict(self) -> dict[str, list[Any]]:
        """The table as a dict of lists, for who has no data frames."""
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Scenario:
    """A scenario: a file, a text or a dict with the keys of scenario files.

    What is wrong with it is a :class:`mmsim.ScenarioError` with the command's text: file, line,
    column, what was found and what to write instead.
    """

    def __new__(cls, path: _Path) -> Scenario: ...
    @staticmethod
    def from_text(text: str, name: str = "scenario.toml") -> Scenario:
        """A scenario from its text. ``name`` stands for the file in messages."""
    @staticmethod
    def from_dict(keys: dict[str, Any], name: str = "scenario.toml") -> Scenario:
        """A scenario from a dict of the keys of scenario files."""
    @property
    def name(self) -> str: ...
    @property
    def about(self) -> str: ...
    @property
    def variants(self) -> list[str]:
        """Names of the variants, in the order of the file."""
    def set(self, key: str, value: _Value) -> Scenario:
        """The same scenario with a value put at the path of a key, as ``--set`` does."""
    def to_toml(self) -> str:
        """The scenario as TOML with every default resolved, as ``--dry-run`` prints it."""
    def run(
        self,
        *,
        seeds: int | Iterable[int] | None = None,
        variants: str | Sequence[str] | None = None,
        at: dict[str, _Value] | None = None,
        jobs: int | None = None,
        check: bool = False,
        why: bool = False,
        pictures: bool = False,
        series: _Time | None = None,
        columns: str | Sequence[str] | None = None,
        policies: Sequence[type[Policy]] | None = None,
        daemons: dict[str, type[Daemon]] | None = None,
        cache_ext: dict[str, type[CacheExt]] | None = None,
        progress: bool | Callable[[int, int], object] | None = None,
    ) -> Report:
        """Makes the runs of the scenario; other threads of Python go on meanwhile.

        - ``seeds``: how many, from the scenario's first on, or which
        - ``variants``, ``at``: only these variants, only where axes have these values
        - ``jobs``: runs at a time; one for each CPU, where it is left out
        - ``check``: audit all invariants as the runs go
        - ``why``: say why pages come back
        - ``pictures``: keep the course of each run for ``Report.page``
        - ``series``: sample counters and gauges every so many seconds of simulated time, or "10ms"
        - ``columns``: only these of them
        - ``policies``: policies in Python, each as one more variant
        - ``daemons``: daemons in Python, by the names that ``program`` of ``[[daemon]]`` says
        - ``cache_ext``: policies of groups in Python, by the names that ``module`` of ``cache-ext``
          says; other names are files
        - ``progress``: True for a line on standard error, or a function of the runs that have
          ended and of all

        Ctrl-C ends the runs and raises KeyboardInterrupt.
        """
    def machine(
        self,
        *,
        variant: str | None = None,
        seed: int | None = None,
        at: dict[str, _Value] | None = None,
    ) -> Machine:
        """One run that goes on step by step."""
    def why(
        self,
        a: str,
        b: str,
        *,
        seed: int | None = None,
        at: dict[str, _Value] | None = None,
    ) -> dict[str, Any]:
        """Why pages come back in one variant and not in another, as ``mmsim why --variants``."""

@final
class Report:
    """What runs came to. ``repr`` is the table of ``mmsim run``, Jupyter shows its page."""

    @staticmethod
    def read(path: _Path) -> Report:
        """Reads a report that ``mmsim run --format json`` wrote."""
    @staticmethod
    def from_json(text: str, name: str = "report.json") -> Report:
        """Reads the JSON of a report. Another schema is a :class:`mmsim.SchemaError`."""
    @property
    def scenario(self) -> str: ...
    @property
    def about(self) -> str: ...
    @property
    def notes(self) -> list[str]:
        """What a reader of the figures should know first."""
    @property
    def unexpected(self) -> list[str]:
        """What the scenario expects of its runs and did not find."""
    @property
    def digests(self) -> list[str]:
        """The fingerprints of the final states, run by run."""
    @property
    def counters(self) -> Table:
        """All counters: a row for each run, phase (null: the whole run) and counter."""
    @property
    def runs(self) -> Table:
        """A row for each run: axes, seed, knobs, outcome and each number that came out."""
    @property
    def series(self) -> Table:
        """A row for each run and instant, if ``run`` was given ``series``."""
    def to_json(self) -> str:
        """The bytes of ``mmsim run --format json``."""
    def to_csv(self) -> str:
        """The bytes of ``mmsim run --format csv``."""
    def table(
        self,
        *,
        long: bool = False,
        by: str | None = None,
        width: int | None = None,
        base: str | None = None,
    ) -> str:
        """The table of ``mmsim run``, with its ``--by`` and ``--base``; ``long``: ``--table full``."""
    def page(self, *, by: str | None = None) -> str:
        """The page of ``mmsim run --html``."""
    def compare(
        self, a: str, b: str, *, phase: str | None = None, per_work: bool = False
    ) -> Comparison:
        """Holds one variant against another, as ``mmsim compare`` does two reports."""
    def compare_with(
        self, other: Report, *, phase: str | None = None, per_work: bool = False
    ) -> Comparison:
        """Holds this report against another one, as ``mmsim compare`` does."""
    def _repr_html_(self) -> str: ...

@final
class Comparison:
    """Two variants, or two reports, beside each other."""

    @property
    def values(self) -> Table:
        """All values, those that moved most in front."""
    def to_json(self) -> str:
        """The bytes of ``mmsim compare --format json``."""

@final
class Machine:
    """One run that goes on step by step: look at it, turn a knob, go on.

    Times are texts ("2s", "500us") or seconds. A run that nobody touched gives the report of
    ``Scenario.run``.
    """

    @property
    def now(self) -> float:
        """Seconds of simulated time at which it stands."""
    @property
    def now_ns(self) -> int:
        """The same in nanoseconds."""
    @property
    def ended(self) -> bool:
        """Whether all its work is done."""
    @property
    def vmstat(self) -> dict[str, int]:
        """Counters since the start, by the names of /proc/vmstat."""
    @property
    def gauges(self) -> dict[str, int]:
        """Gauges as they are now, by the names that series have."""
    def run_until(self, time: _Time) -> bool:
        """Goes on to an instant, or to the end. True: there is more to do."""
    def step(self, time: _Time) -> bool:
        """Goes on for so long. True: there is more to do."""
    def memory_stat(self, group: str) -> dict[str, int]:
        """``memory.stat`` of a group as it is now, by its path: sizes in bytes, and events."""
    def set(self, key: str, value: _Value) -> None:
        """Writes a sysctl of ``machine.vm``, as in ``m.set("vm.swappiness", 10)``."""
    def reclaim(self, group: str, size: str | int) -> None:
        """Starts a process that writes a size to ``memory.reclaim`` of a group."""
    def report(self) -> Report:
        """Goes on to the end; gives the report. Nothing can be asked of the machine then."""

@final
class System:
    """The machine as a daemon sees it in one call of ``tick``.

    Groups and processes are numbers; group 0 is the machine. Reads and acts take simulated time.
    """

    @property
    def now_us(self) -> int:
        """Simulated time in microseconds at which the tick began."""
    def read(self, name: str, of: int = 0) -> float | None:
        """A figure by its name in expressions of rules; None: there is none.

        ``read("meminfo.MemAvailable")``, ``read("memcg(pod/a).pressure.full.avg10")``,
        ``read("current", group)``, ``read("oom_score", process)``. Sizes are in bytes.
        """
    def group(self, path: str) -> int | None:
        """The number of the group of a path."""
    def groups(self, of: int = 0) -> list[int]:
        """The groups right below a group, in the order of their creation."""
    def processes(self, of: int = 0) -> list[int]:
        """The living processes of a group and of those below it."""
    def kill(self, target: int, signal: int = 9) -> int:
        """A signal, 15 or 9, to a process or to all of a group; the number of processes."""
    def write(self, group: int, file: str, value: int | None) -> int:
        """Writes ``memory.high`` and its like, ``memory.reclaim``, ``cgroup.freeze``, or
        ``vm.swappiness`` of group 0; None: max. Gives the pages that were reclaimed."""
    def arm_trigger(self, group: int, full: bool, threshold_us: int, window_us: int) -> int:
        """Writes a trigger to a pressure file; its number comes to ``tick`` when it fires."""
    def random(self) -> int:
        """A random number from 0 to 2**63 - 1, by the seed of the run."""
    def spend(self, us: int) -> None:
        """Takes CPU time for what the daemon computes."""

@final
class Folio:
    """A folio of the page cache, with the flags of the moment in which a hook sees it."""

    @property
    def index(self) -> int:
        """The number of its page in the file."""
    @property
    def inode(self) -> int: ...
    @property
    def file(self) -> str: ...
    @property
    def watched(self) -> bool:
        """Whether its file is one of ``watch``."""
    @property
    def dirty(self) -> bool: ...
    @property
    def writeback(self) -> bool: ...
    @property
    def uptodate(self) -> bool:
        """False while it is being read."""
    @property
    def lru(self) -> bool:
        """Whether it is on a list of the LRU, so that it can go."""
    @property
    def active(self) -> bool: ...
    @property
    def referenced(self) -> bool: ...
    @property
    def workingset(self) -> bool: ...

@final
class FolioList:
    """A list of a policy. A folio is on one list at most. What a kernel refuses is a ValueError."""

    def add(self, folio: Folio, tail: bool = False) -> None:
        """Puts a folio that is on no list at the head."""
    def move(self, folio: Folio, tail: bool = False) -> None:
        """Puts a folio at the head, wherever it was."""
    def iterate(
        self,
        visit: Callable[[int, Folio], int],
        *,
        keep: Literal["head", "tail"] | None = None,
        keep_on: FolioList | None = None,
        offered: Literal["head", "tail"] | None = None,
        offered_on: FolioList | None = None,
    ) -> Literal["done", "too long", "full"]:
        """Calls ``visit`` from the head on; it returns ``CONTINUE``, ``STOP`` or ``OFFER``.

        ``keep`` and ``offered`` say where folios go that are passed, ``keep_on`` and ``offered_on``
        on which list; None: they stay, and this one. It ends after 4,097 folios, or 32 offers.
        """
    def sample(self, score: Callable[[Folio], int], size: int = 16) -> None:
        """Offers the folio with the lowest score of each ``size``, as many as are asked for.

        The folios that it looks at go to the tail. A list that is too short is a ValueError.
        """

class CacheExt:
    """A policy of a group's file folios, with the lists and rules of cache_ext.

    ``Scenario.run(cache_ext={"mru": Mru})`` makes an instance for each run, and each group whose
    ``cache-ext`` has ``module = "mru"``. ``set`` there sets attributes.
    """

    CONTINUE: Final[int]
    STOP: Final[int]
    OFFER: Final[int]
    def init(self) -> None:
        """The run begins."""
    def folio_added(self, folio: Folio) -> None:
        """A folio came into the page cache, and is about to be read."""
    def folio_accessed(self, folio: Folio) -> None:
        """A read used a folio, or its accessed bit was found as it was unmapped."""
    def folio_evicted(self, folio: Folio) -> None:
        """A folio leaves the page cache, whoever evicted it; it leaves its list as well."""
    def evict_folios(self, wanted: int) -> None:
        """The group asks for ``wanted`` folios, which ``iterate``, ``sample`` or ``offer`` give."""
    def new_list(self) -> FolioList:
        """One of five lists at most."""
    def delete(self, folio: Folio) -> None:
        """Takes a folio off its list."""
    def listed(self, folio: Folio) -> bool:
        """Whether a folio is on a list of the policy."""
    def offer(self, folio: Folio) -> None:
        """Offers a folio; 32 in a call at most."""
    @property
    def now_ns(self) -> int:
        """Simulated time in nanoseconds."""
    @property
    def thread(self) -> str | None:
        """The thread that acts; None: one of the kernel."""
    @property
    def task(self) -> str | None:
        """The task of that thread."""
    @property
    def max_pages(self) -> int | None:
        """``max`` of the group in pages."""
    def random(self) -> int:
        """A random number from 0 to 2**32 - 1, by the seed of the run."""

@final
class SweepPlan:
    """The plan of a sweep, from its file."""

    def __new__(cls, path: _Path) -> SweepPlan: ...
    @property
    def name(self) -> str: ...
    @property
    def path(self) -> os.PathLike[str]: ...
    def __len__(self) -> int: ...
    def make(self, unit: int) -> str:
        """Makes the unit of a number: its report as JSON on one line, the unit's name in front."""

@final
class Store:
    """The store of a sweep: a folder, as ``mmsim sweep`` writes it."""

    def __new__(cls, plan: SweepPlan, path: _Path) -> Store: ...
    @property
    def missing(self) -> list[int]:
        """Numbers of the units that it lacked when it was opened."""
    @property
    def runs(self) -> Table:
        """A row for each unit, as ``mmsim sweep merge --format wide``."""
    def keep(self, unit: int, json: str) -> None:
        """Keeps the report of a unit, as :meth:`SweepPlan.make` gave it. Whatever else is refused."""
    def close(self) -> None:
        """Makes all durable, and ends writing."""
    def to_json(self) -> str:
        """The bytes of ``mmsim sweep merge --format json``."""
    def to_csv(self) -> str:
        """The bytes of ``mmsim sweep merge --format tidy``."""
    def table(self) -> str:
        """The table of ``mmsim sweep``."""

@final
class Events:
    """Events of a file, as :func:`read_events` gives them."""

    def __iter__(self) -> Events: ...
    def __next__(self) -> dict[str, Any]:
        """The next event, with the keys of the lines that ``mmsim events`` prints."""
    def table(self, kind: str) -> Table:
        """All events of a kind that are left: a row for each, a column for each of its fields.

        Events of other kinds are passed over. A field that is a list is a column for each number.
        """

def read_events(path: _Path, filter: str | None = None) -> Events:
    """Reads events that ``mmsim run --events FILE.mmev`` wrote, packed or not; ``-`` is stdin.

    ``filter`` is that of ``--events-filter``, as in ``"kind=sim_evict,task=heap"``. A file that is
    cut off gives the events of its whole blocks, and then a :class:`mmsim.FileError`.
    """

def write_trace(frame: ArrowFrame, path: _Path, name: str) -> list[tuple[str, str]]:
    """Writes a frame as a trace. :class:`mmsim.Trace` is for users."""

def curve(
    of: Scenario | _Path,
    *,
    memory: str = "10%..150%",
    points: int | None = None,
    axis: str | None = None,
    reclaim: str | Sequence[str] | None = None,
    by: str | None = None,
    optimum: bool = True,
    jobs: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> Report:
    """Runs a scenario, or a trace by its path, at several sizes of memory, as ``mmsim curve`` does.

    ``memory`` is a range in which ``points`` sizes are placed where the curve of ``by`` bends, or
    sizes with commas between them. ``Report.runs`` has a row for each size, policy and seed,
    ``Report.table(by=...)`` a line for each size, and ``Report.page`` opens with the curve. A file
    of another format is imported with :class:`mmsim.Trace` first.
    """

def tune(
    plan: _Path,
    *,
    budget: int | None = None,
    jobs: int | None = None,
    check: bool = False,
    progress: bool | Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Searches as ``mmsim tune`` does. Gives the ``tuning`` of its JSON as a dict.

    ``["advice"]["decision"]`` is ``"change"`` or ``"change nothing"``. ``["advice"]["settings"]``
    are the settings that are advised, with what each makes better and worse.
    """
