"""From a form to a run: uploads into its folder, fields checked, nothing trusted.

The fields are the options of `mtgauge score`: `translation` (several), `source`, `reference`
(several) name uploaded files, as FILE or FILE:COLUMN; `metric` (several), `lang`, `baseline`,
`unescape` and `title` say what to do with them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from starlette.datastructures import FormData, UploadFile

from mtgauge.data import checks
from mtgauge.data.readers import plain_name
from mtgauge.errors import UsageError
from mtgauge.options import parse_value
from mtgauge.report.writers import visible
from mtgauge.serve.catalogue import Catalogue
from mtgauge.serve.refusals import Refusal
from mtgauge.serve.runs import Run, now, safe_name

FIELDS = {
    "file": "the files: text, TSV, CSV, JSONL, XLSX, XLIFF or TMX",
    "translation": "an uploaded file with a system's translations, FILE or FILE:COLUMN; several "
    "are compared, the first is the baseline",
    "source": "the uploaded file that was translated",
    "reference": "an uploaded file with human translations; several are alternatives",
    "metric": "a metric, NAME or NAME:key=value; several",
    "lang": "the language pair, such as de-en",
    "baseline": "the system that others are tested against",
    "unescape": "on: undo HTML escapes",
    "title": "what lists call the run",
}
SEVERAL = ("file", "translation", "reference", "metric")


def save(form: FormData, folder: Path) -> dict[str, str]:
    """Write the uploads; {the client's name of a file: its name in the folder}."""
    names: dict[str, str] = {}
    for upload in form.getlist("file"):
        if not isinstance(upload, UploadFile) or not upload.filename:
            raise Refusal(422, "The field file holds no file.")
        name = safe_name(upload.filename, list(names.values()))
        if plain_name(Path(name)) != name:
            raise Refusal(422, f"{name} is compressed: unpack it first.")
        try:
            with (folder / name).open("wb") as target:
                shutil.copyfileobj(upload.file, target)
        except OSError as error:
            raise Refusal(507, f"{name} cannot be kept ({error.strerror}).") from None
        names[upload.filename] = name
    if not names:
        raise Refusal(422, "No file was sent.")
    return names


def read(form: FormData, names: dict[str, str], catalogue: Catalogue, run_id: str) -> Run:
    """The run that a form asks for."""
    unknown = sorted(set(form) - set(FIELDS))
    if unknown:
        raise UsageError(f"There is no field {unknown[0]!r}. There are: {', '.join(FIELDS)}.")
    metrics = _texts(form, "metric") or ["bleu", "chrf"]
    for spec in metrics:
        catalogue.check(spec)
    translations = [_upload(text, names) for text in _texts(form, "translation")]
    if not translations:
        raise Refusal(422, "Which file holds the translations? Name it in the field translation.")
    source, lang = _one(form, "source"), _one(form, "lang")
    return Run(
        id=run_id,
        title=visible(_one(form, "title") or ", ".join(name for name, _ in translations))[:200],
        created=now(),
        metrics=metrics,
        translations=translations,
        source=None if source is None else _upload(source, names),
        references=[_upload(text, names) for text in _texts(form, "reference")],
        lang=None if lang is None else checks.language_pair(lang),
        baseline=_one(form, "baseline"),
        unescape=_switch(form, "unescape"),
    )


def _upload(text: str, names: dict[str, str]) -> tuple[str, str | None]:
    """FILE or FILE:COLUMN, where FILE was uploaded: no other place can be named."""
    if text in names:
        return names[text], None
    for given in sorted(names, key=len, reverse=True):
        if text.startswith(given + ":"):
            return names[given], text[len(given) + 1 :]
    raise Refusal(422, f"{text!r} is none of the uploaded files: {', '.join(names)}.")


def _texts(form: FormData, field: str) -> list[str]:
    values = form.getlist(field)
    if any(not isinstance(value, str) for value in values):
        raise Refusal(422, f"The field {field} is text: files go into the field file.")
    return [str(value).strip() for value in values if str(value).strip()]


def _one(form: FormData, field: str) -> str | None:
    values = _texts(form, field)
    if len(values) > 1:
        raise Refusal(422, f"The field {field} is given twice.")
    return values[0] if values else None


def _switch(form: FormData, field: str) -> bool:
    given = _one(form, field) or "off"
    try:
        return bool(parse_value(given, bool))
    except ValueError as error:
        raise Refusal(422, f"The field {field} is {error}, not {given!r}.") from None
