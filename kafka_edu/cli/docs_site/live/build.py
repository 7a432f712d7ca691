"""Build the folder of the live page: the page, Pyodide, xterm.js, our modules, and licences."""

import hashlib
import html
import json
import shutil
from pathlib import Path
from typing import Final

from kafka_edu.cli.docs_site.live import python_files
from kafka_edu.cli.docs_site.live.chapters import Chapters, write_chapters
from kafka_edu.cli.docs_site.live.npm_packages import IncludedPackage, NpmPackage, fetched, packages

FOLDER: Final = "live"
"""The folder of the page in the site."""
ARCHIVE: Final = "python.zip"
EXERCISES: Final = "exercises.zip"
SNAPSHOT: Final = "snapshot.bin"
_LICENCES: Final = "licences"
_ALSO_KEPT: Final = ("scenarios/*", "chapters/*", "chapter-*.html", "figures/*/*")
"""The files that a visit loads only if it needs them, and that are kept for visits without a
network.
"""
_NOT_LOADED: Final = ("scenarios/", "chapters/0", "chapters/1", "chapter-", "figures/", _LICENCES)
"""The first characters of the names of files that not every visit loads."""
_KEEPER: Final = "keep.js"
_FROM_NPM: Final = {
    "@xterm/addon-fit": ("xterm", ("lib/addon-fit.js",)),
    "@xterm/xterm": ("xterm", ("lib/xterm.js", "css/xterm.css")),
    "pyodide": (
        "pyodide",
        ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip"),
    ),
}
"""A package of npm → its folder in the page, and the files of it that the page loads."""


def sources(root: Path) -> dict[str, Path]:
    """Return all files of this checkout from which the page is made: name → file."""
    return {
        **python_files.our_files(root),
        **{
            path.relative_to(root).as_posix(): path
            for folder in ("page/web", "page/npm", "kafka_edu/cli/docs_site/live", "chapters")
            for path in sorted((root / folder).rglob("*"))
            if path.is_file() and path.suffix not in (".pyc", ".gz")
        },
    }


def digest_of(root: Path) -> str:
    """Return a hash of everything from which the page is made. Raises LiveError."""
    digest = hashlib.sha256()
    for name, path in sorted({**python_files.package_files(), **sources(root)}.items()):
        data = path.read_bytes()
        digest.update(f"{name} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def build_live(root: Path, folder: Path, chapters: Chapters) -> None:
    """Write the live page of the checkout `root`, with these chapters, into a new folder.

    Raises LiveError.
    """
    locked = root / "page" / "npm"
    modules = fetched(locked)
    shutil.copytree(root / "page" / "web", folder)
    npm = packages(locked, modules)
    parts = [_copied(package, folder) for package in npm]
    files = {**python_files.package_files(), **python_files.our_files(root)}
    packed = python_files.packed(files, modules, locked / "prepare.mjs")
    (folder / ARCHIVE).write_bytes(packed.archive)
    (folder / EXERCISES).write_bytes(packed.exercises)
    (folder / SNAPSHOT).write_bytes(packed.snapshot)
    parts += python_files.packages()
    _write_lock(modules / "pyodide", folder / "pyodide")
    write_chapters(root, folder, chapters)
    _write_licences(parts, folder)
    _write_keeper(folder)


def _copied(package: NpmPackage, folder: Path) -> IncludedPackage:
    target, names = _FROM_NPM[package.name]
    (folder / target).mkdir(exist_ok=True)
    size = 0
    for name in names:
        copy = folder / target / Path(name).name
        shutil.copyfile(package.folder / name, copy)
        size += copy.stat().st_size
    texts = tuple(sorted(package.folder.glob("LICENSE*")))
    return IncludedPackage(package.name, package.version, package.licence, size, "npm", texts)


def _write_lock(pyodide: Path, target: Path) -> None:
    """Write Pyodide's list of packages (its lock file), and leave the list empty, because the page
    loads none of Pyodide's packages.
    """
    about = json.loads((pyodide / "pyodide-lock.json").read_text(encoding="utf-8"))
    (target / "pyodide-lock.json").write_text(
        json.dumps({"info": about["info"], "packages": {}}), encoding="utf-8"
    )


def _write_licences(parts: list[IncludedPackage], folder: Path) -> None:
    """Write a page that lists the packages of other projects, with their sizes and licences."""
    (folder / _LICENCES).mkdir()
    rows = []
    for part in parts:
        links = []
        for number, text in enumerate(part.texts, 1):
            name = f"{part.name.strip('@').replace('/', '-')}-{number}.txt"
            shutil.copyfile(text, folder / _LICENCES / name)
            links.append(f'<a href="{_LICENCES}/{name}">text</a>')
        cells = [part.name, part.version, part.source, f"{part.bytes:,}", part.licence]
        columns = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        rows.append(f"<tr>{columns}<td>{' '.join(links)}</td></tr>")
    (folder / "licences.html").write_text(
        "<!doctype html>\n"
        '<html lang="en"><head><meta charset="utf-8"><title>Packages and licences</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,"><link rel="stylesheet" href="page.css"></head><body>\n'
        "<header><h1>Packages of others in this page</h1></header>\n"
        "<table><tr><th>package</th><th>version</th><th>from</th><th>bytes</th><th>licence</th>"
        "<th></th></tr>\n" + "\n".join(rows) + "\n</table>\n"
        "<p>Pyodide contains CPython, under the licence PSF-2.0. kafka-edu itself is under"
        " Apache-2.0. The bytes of a Python package are those of its modules, before they are"
        f" packed into {ARCHIVE} and {SNAPSHOT}.</p>\n"
        '<p><a href="index.html">Back to the brokers</a></p>\n'
        "</body></html>\n",
        encoding="utf-8",
    )


def _write_keeper(folder: Path) -> None:
    """Write into the service worker which files the browser keeps for a later visit, and their
    version.
    """
    kept = [path for name in _ALSO_KEPT for path in sorted(folder.glob(name))]
    also = [path.relative_to(folder).as_posix() for path in kept]
    # a browser refuses a list with the same file twice, and then keeps none
    names = [name for name in dict.fromkeys((*loaded(folder), *also)) if name != _KEEPER]
    digest = hashlib.sha256()
    for name in names:
        digest.update((folder / name).read_bytes())
    keeper = folder / _KEEPER
    text = keeper.read_text(encoding="utf-8")
    text = text.replace("@version@", f"kafka-edu-live-{digest.hexdigest()[:16]}")
    text = text.replace('["@files@"]', json.dumps(["./", *names]))
    keeper.write_text(text, encoding="utf-8")


def loaded(folder: Path) -> dict[str, int]:
    """Return the files that a visit loads, with their sizes in bytes."""
    return {
        name: path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not (name := path.relative_to(folder).as_posix()).startswith(_NOT_LOADED)
    }
