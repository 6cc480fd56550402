"""Zstandard files as streams of bytes, through the package zstandard.

    open_zstd(path.open("rb"))            what the file holds, all its frames
    zstandard()                           the package, or the error that says how to get it

The package's own reader takes a file that was cut off for one that ends there; this one refuses it.
"""

from __future__ import annotations

import io
from typing import IO, Any

from mtgauge.errors import ResourceError

_BLOCK = 1 << 17


def zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise ResourceError(
            "Files that end in .zst need the package zstandard: pip install 'mtgauge[stream]'."
        ) from None
    return zstandard


def open_zstd(handle: IO[bytes]) -> io.BufferedReader:
    return io.BufferedReader(_Reader(handle), _BLOCK)


class _Reader(io.RawIOBase):
    def __init__(self, handle: IO[bytes]) -> None:
        self._handle = handle
        self._package = zstandard()
        self._frame: Any = None
        self._packed = b""  # read, not unpacked
        self._ready = b""  # unpacked, not handed out

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            self._packed = self._packed or self._handle.read(_BLOCK)
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("the file ends in the middle of a frame")
                return 0
            try:
                self._unpack()
            except self._package.ZstdError as error:
                raise OSError(str(error)) from None
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _unpack(self) -> None:
        if self._frame is None:
            self._frame = self._package.ZstdDecompressor().decompressobj()
        self._ready = self._frame.decompress(self._packed)
        self._packed = b""
        if self._frame.eof:
            self._packed, self._frame = self._frame.unused_data, None

    def close(self) -> None:
        self._handle.close()
        super().close()
