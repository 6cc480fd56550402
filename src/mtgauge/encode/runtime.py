"""onnxruntime: the one module that imports it.

    session = open_session(Path("model.onnx"), outputs=("layer_4",), device="cpu")
    session.run(["layer_4"], {"input_ids": ids})

With `outputs` the model is cut to what they need before it is loaded (`trim.py`). Telemetry of
onnxruntime is off: it would keep a queue of events in the user's cache folder.

Limits: on the CPU unless a CUDA device is named and onnxruntime-gpu is installed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mtgauge.data.scratch import Scratch
from mtgauge.encode.trim import keep_outputs
from mtgauge.errors import ResourceError


def onnxruntime() -> Any:
    """The library, imported with its telemetry off."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when the library is imported
    import onnxruntime as library

    return library


def open_session(
    path: Path, outputs: tuple[str, ...] = (), device: str = "cpu", threads: int | None = None
) -> Any:
    """An ONNX file, ready to run; with `outputs`, nothing beyond them is computed.

    One run takes `threads` cores, all of them by default.
    """
    options = onnxruntime().SessionOptions()
    options.intra_op_num_threads = threads or cores()
    options.log_severity_level = 4  # what goes wrong is raised below, not printed
    providers = _providers(device)
    session = onnxruntime().InferenceSession
    try:
        if not outputs:
            return session(path, options, providers=providers)
        # From a file, since a session that was given bytes holds them as long as it lives.
        with Scratch() as scratch:
            part = Path(scratch) / path.name
            part.write_bytes(keep_outputs(path.read_bytes(), outputs))
            return session(part, options, providers=providers)
    except OSError as error:
        raise ResourceError(
            f"{path} cannot be opened ({error}). Is there room for a copy of it in the folder of "
            "temporary files (TMPDIR)?"
        ) from None
    except Exception as error:  # onnxruntime has one class per status, and no common base
        wanted = f" for {', '.join(outputs)}" if outputs else ""
        raise ResourceError(
            f"{path} cannot be loaded{wanted} ({error}). Fetch it again, or check that its outputs "
            "are those its card promises."
        ) from None


def cores() -> int:
    """Threads to use: OMP_NUM_THREADS, else every core this process may run on."""
    stated = os.environ.get("OMP_NUM_THREADS", "")
    if stated.isdigit() and int(stated) > 0:
        return int(stated)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _providers(device: str) -> list[Any]:
    """The CPU, or CUDA where it is asked for by name and onnxruntime was built with it."""
    if device in ("auto", "cpu"):
        return ["CPUExecutionProvider"]
    kind, _, number = device.partition(":")
    available = onnxruntime().get_available_providers()
    if kind != "cuda" or "CUDAExecutionProvider" not in available:
        raise ResourceError(
            f"Device {device} was asked for, but onnxruntime here runs on the CPU only. "
            "Use --device auto, or install onnxruntime-gpu."
        )
    return [("CUDAExecutionProvider", {"device_id": int(number or 0)})]
