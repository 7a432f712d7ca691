"""Put the chapters of the course into the live page: their data, their texts, and their list."""

import hashlib
import json
import posixpath
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, Final

from markdown_it import MarkdownIt

from kafka_edu.cli.docs_site.live.moments import with_moments
from kafka_edu.cli.docs_site.live.npm_packages import LiveError
from kafka_edu.cli.docs_site.live.python_files import our_files
from kafka_edu.cli.docs_site.tree import Tree, resolve, staged_page
from kafka_edu.common.python_process import python_command, python_environment

Chapters = list[dict[str, Any]]
"""The data of chapters, as `chapters.page_files` writes them."""
FOLDER: Final = "chapters"
"""The folder of the chapters' data in the page."""
INDEX: Final = "index.json"
WRITER: Final = "chapters.page_files"
"""The module that writes the data. It is only a name: this program imports no chapter."""
_FIGURES: Final = "figures"
_COMMENT: Final = re.compile(r"<!--.*?-->", re.DOTALL)
_ADDRESS: Final = re.compile(r'(href|src)="([^"]+)"')


def version_of(root: Path, chapters: Chapters) -> str:
    """Return a short hash of the modules, scenarios and chapters of the page. They decide what
    happens in a run. If the hash is different, a run may be different too.
    """
    digest = hashlib.sha256(json.dumps(chapters).encode())
    files = {name: path for name, path in our_files(root).items() if not _is_of_exercises(name)}
    scenarios = {path.name: path for path in (root / "page" / "web").glob("scenarios/*")}
    for name, path in sorted((files | scenarios).items()):
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:8]


def _is_of_exercises(name: str) -> bool:
    return name.startswith("exercises/")


def chapters_of(root: Path) -> Chapters:
    """Return the data of each chapter that the page has. Raises LiveError."""
    with tempfile.TemporaryDirectory(prefix="live-page-") as work:
        done = subprocess.run(
            python_command(WRITER, work),
            env=python_environment(),
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            why = done.stderr.strip()[-400:]
            raise LiveError(f"the chapters of the page cannot be written: {why}")
        files = sorted(Path(work).glob("*.json"))
        return [json.loads(file.read_text(encoding="utf-8")) for file in files]


def write_chapters(root: Path, folder: Path, chapters: Chapters) -> None:
    """Write these chapters into the folder of the page."""
    (folder / FOLDER).mkdir()
    tree, listed = Tree(root), []
    for about in chapters:
        text = json.dumps(about, ensure_ascii=False)
        (folder / FOLDER / f"{about['id']}.json").write_text(text, encoding="utf-8")
        _write_text(tree, about, folder)
        listed.append({key: about[key] for key in ("id", "title", "steps", "left_out")})
    index = {"version": version_of(root, chapters), "chapters": listed}
    (folder / FOLDER / INDEX).write_text(json.dumps(index, ensure_ascii=False), encoding="utf-8")


def _write_text(tree: Tree, about: dict[str, Any], folder: Path) -> None:
    """Write the text of a chapter as a piece of HTML, and copy its pictures."""
    page: str = about["page"]

    def moved(match: re.Match[str]) -> str:
        return f'{match[1]}="{_address(tree, page, match[2], folder)}"'

    markdown = MarkdownIt("commonmark").enable("table")
    whole = with_moments(tree.text(page), about["id"], about["facts"], "")
    text = markdown.render(_COMMENT.sub("", whole))
    (folder / f"chapter-{about['id']}.html").write_text(_ADDRESS.sub(moved, text), encoding="utf-8")


def _address(tree: Tree, page: str, link: str, folder: Path) -> str:
    """Return the address of a link of a chapter's page, as seen from the folder of the live page.

    A picture is copied into the folder. A link to a page leads to this page in the site around the
    live page. A link to any other file leads to the page of the course (docs/course.md).
    """
    if re.match(r"[a-z][a-z0-9+.-]*:|#chapter=", link):
        return link
    path, sharp, anchor = link.partition("#")
    file = resolve(page, path) if path else page
    if tree.is_image(file) and tree.has(file):
        copy = folder / _FIGURES / Path(page).parent.name / posixpath.basename(file)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tree.root / file, copy)
        return copy.relative_to(folder).as_posix()
    if tree.is_folder(file) and tree.has(f"{file}/README.md"):
        file = f"{file}/README.md"
    if not file.endswith(".md"):
        file = "docs/course.md"
        sharp = anchor = ""
    return f"../{_html_of(staged_page(file))}{sharp}{anchor}"


def _html_of(page: str) -> str:
    """Return the address in the site of a page of Markdown."""
    folder, name = posixpath.split(page.removesuffix(".md"))
    return posixpath.join(folder, f"{'index' if name == 'README' else name}.html")
