"""Write the folder that MkDocs reads: rewritten pages, pictures, source pages, settings."""

import hashlib
import html
import json
import posixpath
import re
import shutil
import tomllib
from importlib import resources
from pathlib import Path
from typing import Final, TypeAlias

import pygments
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from kafka_edu.cli.docs_site.casts import digest_of, films_of
from kafka_edu.cli.docs_site.links import rewrite
from kafka_edu.cli.docs_site.tree import Tree, source_page, staged_page

PAGES_FOLDER: Final = "pages"
ASSETS: Final = ("site.css", "search.js", "films.js")
_LANGUAGES: Final = {".py": "python", ".toml": "toml", ".json": "json", ".sh": "sh", ".tcss": "css"}

#: One entry of MkDocs' navigation: a page, or a title with a page or with further entries.
NavEntry: TypeAlias = "str | dict[str, str | list[NavEntry]]"


class BrokenLinksError(Exception):
    """Pages link to files that the site does not have. Each problem is one line of text."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def stage(tree: Tree, folder: Path) -> str:
    """Write the folder that MkDocs reads, and return a hash of all sources of the site.

    The hash includes the source files of the chapters' films. The films themselves are written
    later by `casts.stage_films`. Raises BrokenLinksError if a page links to a file that the site
    cannot show.
    """
    pages_folder = folder / PAGES_FOLDER
    pages, images, sources = set[str](), set[str](), set[str]()
    problems: list[str] = []
    ahead = tree.pages()
    while ahead:
        page = ahead.pop()
        if page in pages:
            continue
        pages.add(page)
        result = rewrite(tree, page)
        _write(pages_folder / staged_page(page), result.text)
        images |= result.images
        sources |= result.sources
        problems += result.problems
        ahead += result.pages
    if problems:
        raise BrokenLinksError(sorted(problems))
    for image in images:
        (pages_folder / image).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(tree.root / image, pages_folder / image)
    for source in sources:
        _write(pages_folder / source_page(source), source_text(source, tree.text(source)))
    assets = resources.files(__package__) / "assets"
    for asset in ASSETS:
        _write(pages_folder / "assets" / asset, (assets / asset).read_text(encoding="utf-8"))
    _write(folder / "mkdocs.yml", (assets / "mkdocs.yml").read_text(encoding="utf-8"))
    settings = {
        "INHERIT": "mkdocs.yml",
        "docs_dir": PAGES_FOLDER,
        "nav": navigation(tree, pages),
    }
    _write(folder / "site.yml", json.dumps(settings, ensure_ascii=False, indent=1))
    digest = hashlib.sha256((tree.root / "requirements" / "docs.txt").read_bytes())
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    for film in films_of(tree):
        digest.update(digest_of(tree, film).encode())
    return digest.hexdigest()


def source_text(path: str, text: str) -> str:
    """Return the text of the page that shows a source file.

    Its lines have the anchors L1, L2, and so on.
    """
    language = _LANGUAGES.get(posixpath.splitext(path)[1], "text")
    lines = "".join(f'<a id="L{n}" href="#L{n}">{n}</a>\n' for n in range(1, text.count("\n") + 2))
    return (
        "---\nsearch:\n  exclude: true\nhide:\n  - toc\n---\n\n"
        f"# {path.replace('_', chr(92) + '_')}\n\n"
        f'<div class="source-lines highlight"><pre class="numbers">{lines}</pre>'
        f"<pre><code>{highlight(text, language)}</code></pre></div>\n"
    )


def highlight(text: str, language: str) -> str:
    """Return code as HTML, in which Pygments has marked the parts for colours."""
    if language == "text":
        return html.escape(text)
    lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    highlighted: str = pygments.highlight(text, lexer, HtmlFormatter(nowrap=True))
    return highlighted


def navigation(tree: Tree, pages: set[str]) -> list[NavEntry]:
    """Return MkDocs' navigation: the course, the sections of docs/index.md, and all other pages."""
    placed = {"README.md", "docs/index.md"}
    entries: list[NavEntry] = [{"Start": "README.md"}]

    course: list[NavEntry] = ["docs/course.md"]
    for page in sorted(page for page in pages if re.fullmatch(r"chapters/ch\d+\w*/.*", page)):
        if not page.endswith("/README.md"):
            continue
        others = sorted(
            other
            for other in pages
            if posixpath.dirname(other) == posixpath.dirname(page) and other != page
        )
        # With the theme's option `navigation.indexes`, the first page of a section becomes the page
        # of the whole section. For a chapter, this is the chapter's own page.
        course.append({title_of(tree.text(page)): [page, *others]})
        placed |= {page, *others}
    exercises = _exercises(tree)
    labs: list[NavEntry] = ["docs/labs.md"]
    for page in sorted(page for page in pages if page.startswith("exercises/")):
        labs.append({exercises.get(page, title_of(tree.text(page))): staged_page(page)})
        placed.add(page)
    course.append({"Labs": labs})
    placed |= {"docs/course.md", "docs/labs.md"}
    entries.append({"Course": course})

    index = tree.text("docs/index.md")
    for title, body in re.findall(r"(?ms)^## ([^\n]+)\n(.*?)(?=^## |\Z)", index):
        section: list[NavEntry] = []
        for link in re.findall(r"\]\(([\w./-]+\.md)\)", body):
            page = posixpath.normpath(f"docs/{link}")
            if page in pages and page not in placed:
                section.append(page)
                placed.add(page)
        if "](course.md)" in body:
            course += section
        elif section:
            entries.append({title: section})
    entries.append({"All pages": ["docs/index.md", *sorted(pages - placed)]})
    return entries


def title_of(text: str) -> str:
    """Return the text of the first heading of a page."""
    found = re.search(r"(?m)^# (.+)$", text)
    return found[1].strip() if found else ""


def _exercises(tree: Tree) -> dict[str, str]:
    """Return the path of each exercise's page → the number and title of the exercise."""
    if not tree.has("exercises/manifest.toml"):
        return {}
    return {
        f"exercises/{row['folder']}/README.md": f"{row['id']} {row['title']}"
        for row in tomllib.loads(tree.text("exercises/manifest.toml"))["exercise"]
    }


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
