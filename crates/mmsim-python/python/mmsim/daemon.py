"""Daemons in Python, and groups as a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._mmsim import System


class Daemon:
    """A program of user space that watches memory and acts.

    ``Scenario.run(daemons={"name": Class})`` makes an instance for each run and each ``[[daemon]]``
    with ``program = "name"``.
    """

    def tick(self, system: System, trigger: int | None) -> int | None:
        """Called when its timer wakes it, or a trigger that it armed: then with its number.

        Returns the time of the next call in microseconds, as in ``system.now_us + 100_000``;
        None: only triggers wake it.
        """
        raise NotImplementedError


def memcgs(tree: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The list ``machine.memcg`` of a tree: a dict of groups, each a dict of keys and groups.

    ``memcgs({"pod": {"max": "1GiB", "a": {"low": "64MiB"}, "b": {}}})`` has the groups ``pod``,
    ``pod/a`` and ``pod/b``.
    """
    groups: list[dict[str, Any]] = []

    def add(path: str, group: Mapping[str, Any]) -> None:
        entry: dict[str, Any] = {"name": path}
        groups.append(entry)
        for key, value in group.items():
            if isinstance(value, Mapping):
                add(f"{path}/{key}", value)
            else:
                entry[key] = value

    for name, group in tree.items():
        if not isinstance(group, Mapping):
            raise TypeError(f"memcgs: {name!r} is no dict of a group")
        add(name, group)
    return groups
