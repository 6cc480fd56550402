"""Every error that mtgauge raises on purpose, as one tree.

    MtgaugeError              exit 1   a fault of ours
    ├── UsageError            exit 2   a wrong option, metric or spec
    ├── InputError            exit 3   bad input: says file, line and remedy
    └── ResourceError         exit 4   a model, file of vectors or package is missing
        └── LanguageError     exit 4   there is none for this language: other languages are served

A message is one or two plain sentences: what is wrong, where, and what to do about it. The
command line prints it and exits with `exit_code`; Python callers catch the class.
"""

from __future__ import annotations

import errno
from os import PathLike


class MtgaugeError(Exception):
    exit_code = 1


class UsageError(MtgaugeError):
    exit_code = 2


class InputError(MtgaugeError):
    """Bad input. `file` and `line` (1-based) lead the message, `remedy` ends it.

    >>> print(InputError("the line is not UTF-8", file="a.txt", line=3, remedy="Save it as UTF-8."))
    a.txt, line 3: the line is not UTF-8. Save it as UTF-8.
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        file: str | PathLike[str] | None = None,
        line: int | None = None,
        remedy: str = "",
    ) -> None:
        self.file, self.line, self.remedy = file, line, remedy
        place = [str(file)] if file is not None else []
        place += [f"line {line}"] if line is not None else []
        text = (", ".join(place) + ": " if place else "") + message
        super().__init__(text.rstrip(".") + (". " + remedy if remedy else "."))


class ResourceError(MtgaugeError):
    exit_code = 4


class LanguageError(ResourceError):
    """A metric cannot serve a language. A run says so in that cell and goes on."""


def as_error(fault: Exception) -> MtgaugeError | None:
    """A fault of the machine or of damaged data as one sentence; None: a fault of ours.

    Readers name file and line themselves. This is the last net, for what a library meets under way:
    a full disk, a file that may not be read, a damaged archive or database, too little memory.
    """
    if isinstance(fault, MtgaugeError):
        return fault
    if isinstance(fault, MemoryError):
        return ResourceError(
            "There is not enough memory for this. Give fewer or shorter segments, or more memory."
        )
    if isinstance(fault, RecursionError):
        return InputError("the data is nested too deep to be read")
    if isinstance(fault, OSError):
        remedy = {
            errno.ENOSPC: _MAKE_ROOM,
            errno.EFBIG: "The limit on the size of a file is too low here.",
            errno.EACCES: "Check who may read and write there.",
            errno.ENOTDIR: "A file stands where a folder is wanted: name another place.",
        }.get(fault.errno or 0, "")
        reason = (fault.strerror or str(fault) or type(fault).__name__).lower()
        return InputError(reason, file=fault.filename, remedy=remedy)
    if _is_database(fault) and "full" in str(fault):
        return InputError("no room left on the disk", remedy=_MAKE_ROOM)
    if (type(fault).__module__, type(fault).__name__) in _DAMAGE or _is_database(fault):
        return InputError(f"damaged data ({fault})", remedy="Fetch or make the file again.")
    return None


def named(error: MtgaugeError) -> tuple[str, str]:
    """The class of this module that an error has, and its message: what goes to another process."""
    kind = next(cls for cls in type(error).__mro__ if cls.__module__ == __name__)
    return kind.__name__, str(error)


def renamed(kind: str, message: str) -> MtgaugeError:
    """The error that another process met, under its own class; its message is complete."""
    error: MtgaugeError = _CLASSES[kind].__new__(_CLASSES[kind])
    Exception.__init__(error, message)
    return error


_CLASSES = {
    cls.__name__: cls
    for cls in (MtgaugeError, UsageError, InputError, ResourceError, LanguageError)
}
_MAKE_ROOM = "Make room and run it again: what was finished is kept."
_DAMAGE = {("zlib", "error"), ("_lzma", "LZMAError"), ("_csv", "Error")}


def _is_database(fault: Exception) -> bool:
    return any(base.__module__ == "sqlite3" for base in type(fault).__mro__)
