"""The REST interface: submit, status, result, and a quick answer for a few texts.

Errors are JSON, {"error": one or two plain sentences}. The page at /docs lists what is here, from
the same declarations.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from mtgauge.errors import UsageError
from mtgauge.serve import uploads
from mtgauge.serve.refusals import Refusal
from mtgauge.serve.runs import Run
from mtgauge.serve.state import State

router = APIRouter()
_TICK, _ALIVE = 0.1, 15.0  # seconds between looks at a run, and between signs of life
_TYPES = {"json": "application/json", "tsv": "text/tab-separated-values; charset=utf-8"}
# the report's scripts run in a place of their own: they cannot speak to this server as its user
_SANDBOX = "frame-ancestors 'self'; sandbox allow-scripts allow-downloads allow-modals"


def _form(*fields: str) -> dict[str, Any]:
    """The declaration of a form with these fields of `uploads`."""
    text, several = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
    shape = {
        "type": "object",
        "required": [name for name in fields if name in ("file", "translation")],
        "properties": {
            name: (several if name in uploads.SEVERAL else text)
            | {"description": uploads.FIELDS[name]}
            for name in fields
        },
    }
    return {
        "requestBody": {"required": True, "content": {"multipart/form-data": {"schema": shape}}}
    }


class Texts(BaseModel):
    """A few segments, as the arguments of `mtgauge.score`."""

    model_config = ConfigDict(extra="forbid")

    hypotheses: dict[str, list[str]] | list[str] = Field(
        description="translations by system, or of one system"
    )
    sources: list[str] | None = Field(None, description="what was translated")
    references: list[str | list[str]] | None = Field(
        None, description="references[i] belongs to translation i: one text or several"
    )
    metrics: list[str] = Field(["bleu", "chrf"], description="NAME or NAME:key=value")
    lang: str | None = Field(None, description="language pair, such as de-en")
    unescape: bool = Field(False, description="undo HTML escapes")
    ci: bool = Field(True, description="intervals and tests")
    baseline: str | None = Field(None, description="the system that others are tested against")


def state_of(request: Request) -> State:
    state: State = request.app.state.mtgauge
    return state


@router.get("/metrics", tags=["metrics"])
def list_metrics(
    request: Request,
    side: Annotated[list[str] | None, Query(description="source, reference: what there is")] = None,
    lang: Annotated[str | None, Query(description="language pair, such as de-en")] = None,
) -> list[dict[str, Any]]:
    """All metrics: what each needs and costs, and the reason if it does not suit these texts."""
    sides = None if side is None else frozenset(filter(None, side))
    if sides is not None and not sides <= {"source", "reference"}:
        raise UsageError("side is source or reference.")
    return state_of(request).catalogue.entries(sides, lang or None)


@router.post("/score", tags=["a few texts"])
def score(request: Request, texts: Texts) -> dict[str, Any]:
    """Scores of a few texts at once: what mtgauge score --json writes."""
    state = state_of(request)
    for spec in texts.metrics:
        state.catalogue.check(spec)
    systems = texts.hypotheses
    count = sum(map(len, systems.values())) if isinstance(systems, dict) else len(systems)
    most = state.settings.limits.quick
    if count > most:
        raise Refusal(413, f"{count:,} translations are more than {most:,}: submit a run instead.")
    return state.ask("quick", texts.model_dump())


@router.post("/inspect", tags=["a few texts"], openapi_extra=_form("file"))
async def inspect(request: Request) -> dict[str, Any]:
    """What a file holds: its kind, columns and number of segments."""
    state = state_of(request)
    name, folder = state.store.new_folder()
    try:
        async with request.form(max_files=1, max_fields=1) as form:
            saved = await run_in_threadpool(uploads.save, form, folder)
        asked = {
            "input": str(folder),
            "file": next(iter(saved.values())),
            "segments": state.settings.limits.segments,
        }
        return await run_in_threadpool(state.ask, "inspect", asked)
    finally:
        await run_in_threadpool(state.store.discard, name)


@router.post("/runs", status_code=202, tags=["runs"], openapi_extra=_form(*uploads.FIELDS))
async def submit(request: Request) -> dict[str, Any]:
    """Submit a run; the answer has its id. Fields name the files as mtgauge score does."""
    state = state_of(request)
    state.jobs.make_room()
    name, folder = state.store.new_folder()
    try:
        async with request.form(max_files=50, max_fields=500) as form:
            saved = await run_in_threadpool(uploads.save, form, folder)
            run = uploads.read(form, saved, state.catalogue, name)
        await run_in_threadpool(state.jobs.submit, run)
    except BaseException:
        state.store.discard(name)
        raise
    return run.public()


@router.get("/runs", tags=["runs"])
def list_runs(request: Request) -> list[dict[str, Any]]:
    """All runs of this server, newest first."""
    return [run.public() for run in state_of(request).store.all()]


@router.get("/runs/{run_id}", tags=["runs"])
def status(request: Request, run_id: str) -> dict[str, Any]:
    """How far a run is: waiting, running (stage, done, total), done, failed (error), cancelled."""
    return state_of(request).store.get(run_id).public()


@router.get("/runs/{run_id}/events", tags=["runs"], response_class=StreamingResponse)
async def events(request: Request, run_id: str) -> StreamingResponse:
    """The status whenever it changes, as server-sent events, until the run has ended."""
    run = state_of(request).store.get(run_id)
    at_once = {"X-Accel-Buffering": "no"}  # for a proxy that would collect them
    return StreamingResponse(
        _changes(request, run), headers=at_once, media_type="text/event-stream"
    )


async def _changes(request: Request, run: Run) -> AsyncIterator[str]:
    last, quiet = "", 0.0
    while not await request.is_disconnected():
        final = run.is_final  # asked first: what follows is then complete
        news = json.dumps(run.public())
        if news != last:
            yield f"data: {news}\n\n"
            last, quiet = news, 0.0
        elif quiet >= _ALIVE:
            yield ": still here\n\n"
            quiet = 0.0
        if final:
            return
        await asyncio.sleep(_TICK)
        quiet += _TICK


@router.post("/runs/{run_id}/cancel", tags=["runs"])
def cancel(request: Request, run_id: str) -> dict[str, Any]:
    """Stop a run, or take it out of the queue."""
    state = state_of(request)
    run = state.store.get(run_id)
    state.jobs.cancel(run)
    return run.public()


@router.delete("/runs/{run_id}", status_code=204, tags=["runs"])
def delete(request: Request, run_id: str) -> None:
    """Delete a run that has ended, with all its files."""
    state = state_of(request)
    run = state.store.get(run_id)
    if not run.is_final:
        raise Refusal(409, f"The run is {run.state}: cancel it first.")
    state.store.delete(run)


@router.get("/runs/{run_id}/report.html", tags=["runs"])
def report(request: Request, run_id: str, download: bool = False) -> FileResponse:
    """The report that mtgauge report writes: one file that needs no other."""
    store = state_of(request).store
    run = store.get(run_id)
    path = store.output(run, "report.html")
    headers = {
        "Content-Security-Policy": f"{run.policy}; {_SANDBOX}",
        "X-Frame-Options": "SAMEORIGIN",
    }
    return FileResponse(
        path,
        headers=headers,
        media_type="text/html; charset=utf-8",
        filename=f"mtgauge-{run.id}.html",
        content_disposition_type="attachment" if download else "inline",
    )


@router.get("/runs/{run_id}/{name}", tags=["runs"])
def output(request: Request, run_id: str, name: str) -> FileResponse:
    """A file of a finished run: result.json, scores.tsv (systems) or segments.tsv."""
    store = state_of(request).store
    run = store.get(run_id)
    path = store.output(run, name)
    kind = _TYPES[path.suffix[1:]]
    return FileResponse(path, media_type=kind, filename=f"mtgauge-{run.id}-{path.name}")
