"""Sequences of accesses that Python has, as work of a scenario."""

from __future__ import annotations

import array
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from . import _mmsim


class ArrowFrame(Protocol):
    """What gives its columns by the Arrow PyCapsule protocol."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


class Trace:
    """A trace in a file, made of arrays or of a frame.

    ``page`` has page numbers, ``write`` says which accesses write (none, where it is left out),
    ``time_ns`` has nanoseconds since the start. With times a replay has the recorded arrivals.
    Without them one access follows the other.
    """

    path: str
    info: Mapping[str, str]

    def __init__(self, path: str | os.PathLike[str], info: Mapping[str, str]) -> None:
        self.path = os.fspath(path)
        self.info = dict(info)

    @classmethod
    def from_arrow(
        cls, frame: ArrowFrame, path: str | os.PathLike[str], *, name: str = "python"
    ) -> Trace:
        """Writes the columns ``page``, ``write`` and ``time_ns`` of a frame to a file.

        Whole numbers of any width are taken, and truth values for ``write``. Any other column, a
        gap or a number below 0 is a :class:`mmsim.SchemaError`.
        """
        return cls(path, dict(_mmsim.write_trace(frame, os.fspath(path), name)))

    @classmethod
    def from_arrays(
        cls,
        page: Sequence[int],
        path: str | os.PathLike[str],
        *,
        write: Sequence[bool] | Sequence[int] | None = None,
        time_ns: Sequence[int] | None = None,
        name: str = "python",
    ) -> Trace:
        """The same of sequences of one length: lists, ``array.array``, NumPy arrays."""
        if page is None:
            raise TypeError("page: a sequence of whole numbers, not None")
        columns = {"page": page, "write": write, "time_ns": time_ns}
        given = {key: value for key, value in columns.items() if value is not None}
        frame = _mmsim.Table.from_whole({key: _whole(key, value) for key, value in given.items()})
        return cls.from_arrow(frame, path, name=name)

    def task(self, **keys: Any) -> dict[str, Any]:
        """A task of a scenario that replays it: a dict for ``Scenario.from_dict``."""
        return {"workload": "replay", "trace": os.path.abspath(self.path), **keys}

    def __repr__(self) -> str:
        accesses = self.info.get("accesses read", "?")
        return f"<mmsim.Trace of {accesses} accesses in {self.path}>"


def _whole(name: str, values: Sequence[int]) -> bytes:
    """Whole numbers as 64-bit little-endian bytes."""
    try:
        # NumPy arrays and the like convert by themselves, in C.
        astype = getattr(values, "astype", None)
        if astype is not None:
            kind = getattr(getattr(values, "dtype", None), "kind", "")
            if kind not in "iub":
                raise TypeError(f"{name}: whole numbers, not {getattr(values, 'dtype', '?')}")
            if kind == "i" and len(values) and getattr(values, "min")() < 0:
                raise ValueError(f"{name}: numbers from 0 on")
            return bytes(astype("<u8").tobytes())
        packed = array.array("Q", values)
    except OverflowError as e:
        raise ValueError(f"{name}: numbers from 0 on, of 64 bits at most") from e
    except TypeError as e:
        raise TypeError(f"{name}: a sequence of whole numbers: {e}") from e
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()
