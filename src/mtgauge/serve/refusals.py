"""Refusals that have an HTTP status; every other error of mtgauge gets one here."""

from __future__ import annotations

from mtgauge.errors import InputError, MtgaugeError, ResourceError, UsageError


class Refusal(UsageError):
    """A request that is refused, with the HTTP status that says why."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


def status_of(error: MtgaugeError) -> int:
    if isinstance(error, Refusal):
        return error.status
    if isinstance(error, InputError):
        return 422
    if isinstance(error, UsageError):
        return 400
    return 503 if isinstance(error, ResourceError) else 500
