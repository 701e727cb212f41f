"""The lines of users: which one called into this package, and warnings that point there.

NumPy warns of a division by zero at the line that called it, which is a line of ours, or of an operator that was
written out. Such a warning is issued once more, at the line that called into this package: there it is filtered and
counted, and that line is shown. Nothing is looked at before a warning is about to be shown, so nothing is paid for it.
Warnings of all other lines are shown as they would be. (NumPy can call a function instead of warning, but only if its
own settings are changed, which are the user's; and which frames are skipped can be told to `warnings.warn` alone.)
"""

import sys
import warnings
from types import FrameType
from typing import Any

from .core.source import HOME

__all__ = ["caller", "is_own"]

#: What users are told; deprecations of a library are ours to deal with.
_FOR_USERS = (RuntimeWarning, UserWarning)


def is_own(file: str) -> bool:
    """Whether code is of this package: in a file, or written out here."""
    return file.startswith(HOME)


def caller() -> FrameType | None:
    """The innermost frame outside this package; None in a thread that it started."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _redirected(show: Any) -> Any:
    """What shows a warning, after those of this package's lines were taken to their callers."""
    show = getattr(show, "plainly", show)  # if this module was loaded before

    def _showwarnmsg(message: Any) -> None:
        file, frame = message.filename, None
        if is_own(file) and issubclass(message.category, _FOR_USERS):
            frame = sys._getframe(1)
            while frame is not None and is_own(name := frame.f_code.co_filename):
                if name == file:  # callers' lines count how often they warned; if ours did, the first alone were told
                    frame.f_globals["__warningregistry__"] = None
                frame = frame.f_back
        if frame is None:
            show(message)
            return
        place = frame.f_globals
        warnings.warn_explicit(
            message.message,
            message.category,
            frame.f_code.co_filename,
            frame.f_lineno,
            place.get("__name__") or "<string>",
            place.setdefault("__warningregistry__", {}),
            source=message.source,
        )

    _showwarnmsg.plainly = show  # type: ignore[attr-defined]
    return _showwarnmsg


if hasattr(warnings, "_showwarnmsg"):  # what Python calls, whoever records or formats warnings behind it
    warnings._showwarnmsg = _redirected(warnings._showwarnmsg)
