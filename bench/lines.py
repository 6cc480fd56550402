"""How many lines the package has, folder by folder and feature by feature.

    python bench/lines.py                   # this checkout
    python bench/lines.py --at 39cdd53      # the same count of an earlier commit
    python bench/lines.py --files           # and every file with its feature

"code" leaves out blank lines, comments and docstrings; "all" is what `wc -l` counts. A feature is a
group of files (`FEATURES`); files that no group names belong to what the package could do on 16
November 2026, the day of the review that counted 27,500 lines. What later work added inside older
files is counted with those: stricter checks, options of the papers' variants, messages.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tokenize
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "src/mtgauge"
OLD = "of 16 November"
# what came later: the first group with a matching pattern counts; paths below the package
FEATURES: dict[str, tuple[str, ...]] = {
    "report: page, verdict, notebook": (
        "report/page/*", "report/notebook.py", "report/disagree.py", "commands/report.py",
        "engine/inside.py", "engine/aside.py", "engine/slices.py", "engine/contrast.py",
        "engine/comparison.py", "engine/verdict.py", "engine/stored.py",
    ),
    "Python without argparse": (
        "report/api.py", "commands/flags.py", "train/settings.py", "arguments.py",
    ),
    "web application": ("serve/*", "commands/serve.py"),
    "gate (check) and warnings": (
        "engine/gate.py", "engine/limits.py", "engine/flags.py", "commands/check.py",
        "report/gate.py",
    ),
    "streams of records": ("engine/stream/*", "commands/stream.py", "data/record*.py"),
    "reranking": ("engine/rerank.py", "commands/rerank.py", "data/candidates.py"),
    "places: processes, Ray": (
        "engine/places.py", "engine/pool.py", "engine/processes.py", "engine/ray.py",
        "engine/worker.py",
    ),
    "robustness probes": ("meta/faults.py", "meta/robust.py", "meta/slips.py"),
    "untranslated text": (
        "text/untranslated.py", "text/guard.py", "text/telling.py", "text/script.py",
        "metrics/_omission.py",
    ),
    "trust in a number": ("engine/trust.py", "report/trust.py"),
    "other formats and tools": (
        "data/documents.py", "data/foreign.py", "engine/foreign.py", "data/testsets.py",
        "data/zstd.py",
    ),
    "language codes": ("data/codes.py",),
    "checks of order, damage, space": (
        "data/alignment.py", "data/seal.py", "data/scratch.py", "notes.py",
    ),
    "papers' variants": (
        "metrics/yisi.py", "metrics/_std_context.py", "metrics/_entities.py", "engine/entities.py",
        "meta/lexicon.py", "encode/remap/rcsls.py", "encode/tokens/slow.py", "metrics/_faults.py",
        "knowledge/base/whole.py", "report/entities.py",
    ),
    "encoder of both directions": (
        "train/embedded/both.py", "train/embedded/fixed.py", "train/embedded/mirror.py",
        "train/embedded/triples.py", "train/metrics/mirrored.py",
    ),
}  # fmt: skip


def code_lines(text: str) -> int:
    """Lines that hold code: no blank ones, no comments, no docstrings."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skipped and token.type != tokenize.ENDMARKER:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        own = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        if isinstance(node, own) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            found -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(found)


def sources(commit: str | None) -> Iterator[tuple[str, str]]:
    """(path below the package, text) of each Python file, here or in a commit."""
    if commit is None:
        for path in sorted((ROOT / PACKAGE).rglob("*.py")):
            yield path.relative_to(ROOT / PACKAGE).as_posix(), path.read_text(encoding="utf-8")
        return

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, check=True)
        return done.stdout.decode()

    for name in git("ls-tree", "-r", "--name-only", commit, PACKAGE).splitlines():
        if name.endswith(".py"):
            yield name.removeprefix(f"{PACKAGE}/"), git("show", f"{commit}:{name}")


def feature(path: str) -> str:
    for name, patterns in FEATURES.items():
        if any(fnmatch(path, pattern) for pattern in patterns):
            return name
    return OLD


def folder(path: str) -> str:
    """The first two folders of a path: train/embedded, engine, or the root."""
    return "/".join(path.split("/")[:-1][:2]) or "(root)"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--at", metavar="COMMIT", help="count an earlier commit")
    parser.add_argument("--files", action="store_true", help="list the files too")
    args = parser.parse_args()
    by_folder, by_feature = Counter[str](), Counter[str]()
    code_by_folder, code_by_feature = Counter[str](), Counter[str]()
    for path, text in sources(args.at):
        every, code = text.count("\n"), code_lines(text)
        by_folder[folder(path)] += every
        code_by_folder[folder(path)] += code
        by_feature[feature(path)] += every
        code_by_feature[feature(path)] += code
        if args.files:
            print(f"{code:6,} {every:6,}  {path}  ({feature(path)})")
    tables = (("folder", by_folder, code_by_folder), ("feature", by_feature, code_by_feature))
    for title, every_line, code_line in tables:
        print(f"\n  code    all  {title}")
        for name, lines in every_line.most_common():
            print(f"{code_line[name]:6,} {lines:6,}  {name}")
        print(f"{code_line.total():6,} {every_line.total():6,}  together")
    new = by_feature.total() - by_feature[OLD]
    print(f"\nfeatures of 16 November: {by_feature[OLD]:,} lines; since then: {new:,}")


if __name__ == "__main__":
    main()
