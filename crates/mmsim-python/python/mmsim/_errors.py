"""Errors, with the text of the command.

They are plain Python, so that they can be pickled between processes.
"""

from __future__ import annotations


class MmsimError(Exception):
    """What mmsim complains about. ``str`` of it is what the command prints.

    ``title`` is the first line alone. ``file``, ``line`` and ``column`` (both from 1, the column
    in characters) say where it is, where it has a place.
    """

    title: str
    file: str | None
    line: int | None
    column: int | None

    def __init__(
        self,
        message: str,
        title: str = "",
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message)
        self.title = title or message
        self.file = file
        self.line = line
        self.column = column


class InputError(MmsimError):
    """Bad input: what the command ends for with exit code 2."""


class ScenarioError(InputError):
    """A scenario, or a policy that it names, says something that has no meaning."""


class OptionError(InputError):
    """A key that is set, a variant, an axis, a figure or a time that there is not."""


class FileError(InputError):
    """A file cannot be read or written, or is not what it should be."""


class SchemaError(InputError):
    """A document or a frame has another schema than mmsim reads."""


class RunError(MmsimError):
    """A run gave no result: an invariant is broken, or it ended early."""


# As users name them.
for _class in (
    MmsimError,
    InputError,
    ScenarioError,
    OptionError,
    FileError,
    SchemaError,
    RunError,
):
    _class.__module__ = "mmsim"
