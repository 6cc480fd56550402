"""`mtgauge serve`: the web application and its REST interface."""

from __future__ import annotations

import argparse
import importlib
import os
import webbrowser
from pathlib import Path

from mtgauge.errors import ResourceError
from mtgauge.serve.settings import Limits, ServerSettings, state_folder

_EXAMPLES = """
examples:
  mtgauge serve                                     http://127.0.0.1:8765/, for this machine only
  mtgauge serve --host 0.0.0.0 --token TOKEN        for others, who must know the token
  mtgauge serve -m bleu chrf bertscore:encoder=xlm-roberta-base

The token may also stand in the environment variable MTGAUGE_TOKEN, where other users of the machine
do not see it.
"""
_MB = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    usual = Limits()
    add = parser.add_argument
    parser.epilog = _EXAMPLES
    add("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    add("--port", type=int, default=8765, help="0: any free one (default: %(default)s)")
    add("--token", default=os.environ.get("MTGAUGE_TOKEN"), help="what every client must know")
    add("--name", nargs="+", default=[], metavar="NAME",
        help="further names under which the server is reached")  # fmt: skip
    add("--state", type=Path, metavar="DIR", help="where runs are kept (default: the user's)")
    add("-m", "--metrics", nargs="+", default=[], metavar="METRIC",
        help="the metrics on offer (default: all)")  # fmt: skip
    add("--open", action="store_true", help="open it in the browser")
    add("--device", default="auto", help="auto (default), cpu, cuda or mps; for hub models")
    limits = parser.add_argument_group("limits")
    add = limits.add_argument
    add("--max-upload", type=int, default=usual.upload // _MB, metavar="MB",
        help="of one request (default: %(default)s)")  # fmt: skip
    add("--max-segments", type=int, default=usual.segments, metavar="N",
        help="of one run, times its systems (default: %(default)s)")  # fmt: skip
    add("--max-waiting", type=int, default=usual.waiting, metavar="N",
        help="runs in the queue (default: %(default)s)")  # fmt: skip
    add("--time-limit", type=int, default=usual.seconds, metavar="SECONDS",
        help="of one run (default: %(default)s)")  # fmt: skip
    add("--keep", type=int, default=usual.kept, metavar="N",
        help="earlier runs; beyond it the oldest is deleted (default: %(default)s)")  # fmt: skip


def run(args: argparse.Namespace) -> int:
    try:
        for package in ("fastapi", "uvicorn", "jinja2", "python_multipart"):
            importlib.import_module(package)
    except ImportError as error:
        raise ResourceError(
            f"mtgauge serve needs the package {error.name}: pip install 'mtgauge[web]'."
        ) from None
    from mtgauge.serve.app import serve

    settings = ServerSettings(
        state=(args.state or state_folder()).absolute(),
        host=args.host,
        token=args.token,
        names=tuple(args.name),
        metrics=tuple(args.metrics),
        device=args.device,
        limits=Limits(
            upload=args.max_upload * _MB,
            segments=args.max_segments,
            waiting=args.max_waiting,
            seconds=args.time_limit,
            kept=args.keep,
        ),
    )
    serve(settings, args.port, webbrowser.open if args.open else None)
    return 0
