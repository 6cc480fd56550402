"""What the pages of this folder take from the program: declarations, help and output of examples.

Used by mkdocs (a hook, see mkdocs.yml) and by tests/test_docs.py. A page holds comments, which show
nothing where the page is read as plain Markdown; the built site has there

    <!-- metric NAME -->      what `mtgauge metrics NAME` knows: how to read it, facts, options
    <!-- command NAME -->     usage and options of a command and of its subcommands
    <!-- metrics -->          a table of all metrics, <!-- commands --> one of all commands
    <!-- names -->            the public names of Python, <!-- names train --> those of training

and after each example (a fenced block `sh` or `python`) of metrics/, commands/ and examples/ what
it printed. Examples of a page run one after the other in one folder, which `lay_out` fills.
"""

from __future__ import annotations

import argparse
import html
import importlib
import inspect
import math
import os
import re
import subprocess
import sys
import tempfile
import types
import typing
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# files of the repository's root that are pages of the site
FROM_ROOT = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "SECURITY.md": "security.md",
}
REPOSITORY = "https://github.com/mtgauge/mtgauge/blob/main/"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
MARKER = re.compile(r"^<!-- (metrics?|commands?|names)(?: ([\w-]+))? -->$", re.MULTILINE)
WITH_OUTPUT = ("metrics/", "commands/", "examples/")
_LONGEST = 40  # lines of output that are shown
_outputs: dict[str, list[str]] = {}


def lay_out(folder: Path) -> None:
    """Write the files that the examples speak of: the package's own example, 20 segments."""
    from mtgauge.engine.demo import example

    (chunk,) = example("de-en").chunks(1000)
    assert chunk.sources is not None
    assert chunk.references is not None
    columns = {
        "src.de": chunk.sources,
        "src.txt": chunk.sources,
        "ref.txt": [row[0] for row in chunk.references],
        "a.txt": chunk.systems["literal"],
        "b.txt": chunk.systems["careful"],
        "sys.en": chunk.systems["rough"],
    }
    for name, lines in columns.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def run_examples(text: str, folder: Path) -> Iterator[tuple[str, subprocess.CompletedProcess[str]]]:
    """Run the examples of a page in `folder`: (code, what came of it)."""
    scripts = str(Path(sys.executable).parent)
    environment = os.environ | {
        "PATH": os.pathsep.join([scripts, os.environ["PATH"]]),
        "COLUMNS": "100",
        "PYTHONIOENCODING": "utf-8",
    }
    for language, code in BLOCK.findall(text):
        command = [sys.executable, "-c", code] if language == "python" else ["bash", "-ec", code]
        yield (
            code,
            subprocess.run(
                command,
                cwd=folder,
                capture_output=True,
                encoding="utf-8",
                check=False,
                env=environment,
            ),
        )


# The hook of mkdocs


def on_pre_build(config: Any) -> None:
    """Run the examples whose output is shown, several pages at a time."""
    pages = _with_output()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        _outputs.update(zip(pages, pool.map(_run_page, pages), strict=True))


def on_files(files: Any, config: Any) -> Any:
    """Pages of the repository's root."""
    from mkdocs.structure.files import File

    for source, page in FROM_ROOT.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    name = page.file.src_uri
    text = MARKER.sub(lambda found: _WRITERS[found[1]](found[2] or ""), markdown)
    if name in _outputs:
        outputs = iter(_outputs[name])
        text = BLOCK.sub(lambda found: found[0] + _shown(next(outputs)), text)
    return _links(text, name, ROOT if name in FROM_ROOT.values() else (HERE / name).parent)


def _with_output() -> list[str]:
    names = sorted(path.relative_to(HERE).as_posix() for path in HERE.rglob("*.md"))
    return [name for name in names if name.startswith(WITH_OUTPUT)]


def _run_page(name: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        lay_out(Path(folder))
        outputs = []
        for code, done in run_examples((HERE / name).read_text(encoding="utf-8"), Path(folder)):
            if done.returncode:
                raise SystemExit(f"{name}: an example fails:\n{code}\n{done.stderr}")
            outputs.append(done.stdout)
        return outputs


def _shown(output: str) -> str:
    lines = output.rstrip().splitlines()
    if len(lines) > _LONGEST:
        lines = [*lines[:_LONGEST], "..."]
    return "\n```{.text .output}\n" + "\n".join(lines) + "\n```\n" if lines else ""


def _links(text: str, name: str, home: Path) -> str:
    """Links that hold in the repository, read from the folder `home`, as links of the page `name`.

    What is no page of the site is shown by the repository.
    """

    def target(found: re.Match[str]) -> str:
        path = (home / found[1]).resolve()
        inside = FROM_ROOT.get(path.name) if path.parent == ROOT else None
        if inside is None and path.is_relative_to(HERE):
            inside = path.relative_to(HERE).as_posix()
        if inside is not None:
            link = os.path.relpath(inside, os.path.dirname(name)).replace(os.sep, "/")
        elif path.exists():
            link = REPOSITORY + path.relative_to(ROOT).as_posix()
        else:
            link = found[1]  # mkdocs complains
        return f"]({link}{found[2]})"

    return re.sub(r"\]\(([^)#:\s]+)((?:#[^)]*)?)\)", target, text)


# What stands in place of a comment


def write_metric(name: str) -> str:
    """A metric's declaration."""
    from mtgauge import registry
    from mtgauge.options import declared, format_value

    cls, metric = registry.get(name), registry.load(name)
    low, high = (f"{b:g}" if math.isfinite(b) else "unbounded" for b in metric.bounds)
    better = "higher is better" if metric.higher_is_better else "lower is better"
    facts = {
        "Needs": " and ".join(sorted(metric.needs, reverse=True)) or "only the translation",
        "Range": f"{low} to {high}; {better}",
        "Empty translation": f"{metric.worst:g}",
        "Longest text": f"{metric.longest:,} characters" if metric.longest else "",
        "Languages": ", ".join(sorted(metric.languages)) if metric.languages else "any",
        "Cost": metric.cost,
        "Paper": metric.paper,
    }
    lines = [f"**{metric.summary}**", "", metric.meaning, "", "| | |", "| --- | --- |"]
    lines += [f"| {key} | {value} |" for key, value in facts.items() if value]
    told = declared(cls)
    options = cls.defaults()
    lines += ["", "## Options", ""]
    lines += (
        ["| option | what it does | default | values |", "| --- | --- | --- | --- |"]
        if options
        else ["None."]
    )
    for key, default in options.items():
        values = ", ".join(dict.fromkeys(_values(told[key].kind)))
        usual, about = _code(format_value(default)), _in_table(told[key].text)
        lines.append(f"| `{key}` | {about} | {usual} | {values} |")
    if cls.__doc__:
        lines += ["", inspect.cleandoc(cls.__doc__)]
    return "\n".join(lines)


def write_metrics(_: str) -> str:
    """All metrics, a link each."""
    from mtgauge import registry
    from mtgauge.commands.metrics import needed

    lines = ["| metric | needs | better | what it measures |", "| --- | --- | --- | --- |"]
    for name in registry.names():
        metric = registry.load(name)
        needs = " + ".join(needed(metric))
        better = "higher" if metric.higher_is_better else "lower"
        lines.append(f"| [`{name}`]({name}.md) | {needs} | {better} | {metric.summary} |")
    return "\n".join(lines)


def write_command(name: str) -> str:
    """Usage and options of a command, then of its subcommands."""
    from mtgauge.cli import COMMANDS

    module, text = COMMANDS[name]
    parser = argparse.ArgumentParser(f"mtgauge {name}")
    importlib.import_module(module).add_arguments(parser)
    return f"**{text[0].upper()}{text[1:]}**\n\n" + "\n".join(_help(parser))


def write_commands(_: str) -> str:
    """All commands, a link each."""
    from mtgauge.cli import COMMANDS

    lines = ["| command | what it does |", "| --- | --- |"]
    lines += [f"| [`{name}`]({name}.md) | {text} |" for name, (_, text) in COMMANDS.items()]
    return "\n".join(lines)


def write_names(folder: str) -> str:
    """The public names, for mkdocstrings; those of `mtgauge.train` are found without torch."""
    import mtgauge

    if folder == "train":
        homes = [f"mtgauge.train.{module}.{own}" for module, own in mtgauge.train._HOMES.values()]
        return "\n\n".join(f"::: {home}" for home in homes)
    return "\n\n".join(
        f"::: {mtgauge._HOMES[n]}.{n}" for n in mtgauge.__all__ if n in mtgauge._HOMES
    )


_WRITERS: dict[str, Callable[[str], str]] = {
    "metric": write_metric,
    "metrics": write_metrics,
    "command": write_command,
    "commands": write_commands,
    "names": write_names,
}


def _values(hint: Any) -> list[str]:
    """What may be written for a parameter of this type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return [f"`{value}`" for value in inner]
    if origin in (typing.Union, types.UnionType):
        return [text for part in inner for text in _values(part)]
    if origin is tuple:
        return ["a list, separated by `;`"]
    names = {bool: "`on`, `off`", int: "whole number", float: "number", str: "text"}
    return [names.get(hint, "`none`")]


def _in_table(text: str) -> str:
    return html.escape(text, quote=False).replace("|", "\\|")


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _help(parser: argparse.ArgumentParser, depth: int = 2) -> list[str]:
    """Usage, a table of the options, examples; the same for each subcommand."""
    usage = parser.format_usage().removeprefix("usage: ").strip()
    usage = re.sub(r"\n +", "\n    ", usage)
    lines = ["", "```{.text .usage}", usage, "```", ""]
    shown = [a for a in parser._actions if a.dest != "help" and not _is_choice(a)]
    if shown:
        lines += ["| option | meaning |", "| --- | --- |"]
    for action in shown:
        names = ", ".join(f"`{name}`" for name in action.option_strings) or f"`{_value(action)}`"
        value = f" `{_value(action)}`" if action.option_strings and action.nargs != 0 else ""
        text = (action.help or "") % {**vars(action), "prog": parser.prog}
        lines.append(f"| {names}{value} | {_in_table(text)} |")
    if parser.epilog:
        lines += ["", "```{.text .usage}", inspect.cleandoc(parser.epilog), "```"]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {choice.dest: choice.help for choice in action._choices_actions}
            for name, inner in action.choices.items():
                lines += ["", f"{'#' * depth} {inner.prog}", "", told.get(name) or ""]
                lines += _help(inner, depth + 1)
    return lines


def _is_choice(action: argparse.Action) -> bool:
    return isinstance(action, argparse._SubParsersAction)


def _value(action: argparse.Action) -> str:
    """The placeholder of an argument's value."""
    if action.choices is not None and action.metavar is None:
        return "{" + ",".join(map(str, action.choices)) + "}"
    named = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return f"{named} ..." if action.nargs in ("+", "*") else named
