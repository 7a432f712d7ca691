"""Turn the Markdown of the checkout into the Markdown that MkDocs reads.

Pages keep their place, so links between pages stay as they are. A link to a source file becomes a
link to the page that shows this file. A file name in code font becomes a link to this page too. A
link that leads nowhere is reported as a problem, with its page and its target.
"""

import ast
import re
from functools import cache
from typing import Final, NamedTuple

from kafka_edu.cli.docs_site.casts import film_of, with_film
from kafka_edu.cli.docs_site.live.moments import with_moments
from kafka_edu.cli.docs_site.markdown_parts import parts_of
from kafka_edu.cli.docs_site.tree import (
    LIVE_PAGE,
    Tree,
    relative,
    resolve,
    source_page,
    staged_page,
)

_COMMENT: Final = re.compile(r"(?m:^)<!--.*?-->[ \t]*\n|<!--.*?-->", re.DOTALL)
_TEXT: Final = r"(?:[^\[\]`]|`[^`]*`|!\[[^\]]*\]\([^)]*\))*"
_PIECE: Final = re.compile(
    rf"(?P<image>!\[(?P<alt>[^\]]*)\]\((?P<picture>[^)\s]+)\))"
    rf"|(?P<link>\[(?P<text>{_TEXT})\]\((?P<target>[^)\s]+)\))"
    r"|`(?P<file>[\w./-]+)`(?P<between>:\s+)`(?P<name>[A-Za-z_][\w.]*)`"
    r"|(?P<code>`+)(?P<words>.+?)(?P=code)(?!`)",
    re.DOTALL,
)


class Rewritten(NamedTuple):
    """A page as MkDocs reads it, and the other files that the site needs for the page's links."""

    text: str
    pages: set[str]
    """Paths of the pages to which this page links."""
    images: set[str]
    sources: set[str]
    """Paths of the source files to which this page links. The site shows each file on a page."""
    problems: list[str]
    """Broken links, one line of text each."""


class _Page:
    """The page that is being rewritten, and its result so far."""

    def __init__(self, tree: Tree, page: str) -> None:
        self.tree = tree
        self.page = page
        self.result = Rewritten("", set(), set(), set(), [])

    def piece(self, match: re.Match[str]) -> str:
        """Return the new text of a link, an image, or a word in code font."""
        if match["image"] is not None:
            picture = self.target(match["picture"], image=True)
            return f"[![{match['alt']}]({picture})]({picture})"  # a tap shows it in full size
        if match["link"] is not None:
            text = re.sub(
                r"(!\[[^\]]*\])\(([^)\s]+)\)",
                lambda inner: f"{inner[1]}({self.target(inner[2], image=True)})",
                match["text"],
            )
            target = self.target(match["target"])
            return f"[{text}]({target})" if target else text
        if match["file"] is not None:
            if (line := self.line_of(match["file"], match["name"])) is None:
                return self.code(match["file"]) + match["between"] + f"`{match['name']}`"
            file = self.code(match["file"])
            page = relative(self.page, source_page(match["file"]))
            return f"{file}{match['between']}[`{match['name']}`]({page}#L{line})"
        if match["code"] == "`":
            return self.code(match["words"])
        return match[0]

    def code(self, words: str) -> str:
        """Return `words` in code font.

        If they name a file that the site can show, they become a link.
        """
        if "/" not in words or not re.fullmatch(r"[\w./-]+", words) or not self.tree.has(words):
            return f"`{words}`"
        if self.tree.is_image(words) or not self.tree.is_readable(words):
            return f"`{words}`"
        return f"[`{words}`]({self.file(words)})"

    def file(self, path: str) -> str:
        """Return the link from the current page to the file `path`, and add the file to the
        result.
        """
        if path.endswith(".md"):
            self.result.pages.add(path)
            return relative(self.page, staged_page(path))
        if self.tree.is_image(path):
            self.result.images.add(path)
            return relative(self.page, path)
        self.result.sources.add(path)
        return relative(self.page, source_page(path))

    def line_of(self, file: str, name: str) -> int | None:
        """Return the line number of the function or class `name` in `file`, or None."""
        if not file.endswith(".py") or "/" not in file or not self.tree.has(file):
            return None
        return definitions(self.tree.text(file)).get(name)

    def target(self, link: str, *, image: bool = False) -> str:
        """Return the target of a link on the site. A broken link is added to the problems.

        Return "" if the file is missing in a student's copy, which does not have all files.
        """
        if re.match(r"[a-z][a-z0-9+.-]*:", link):
            if image:
                self.problem(link, "a picture of another host, which needs a network")
            return link
        if link.startswith("#"):
            return link
        path, sharp, anchor = link.partition("#")
        file = resolve(self.page, path)
        if self.tree.is_folder(file) and self.tree.has(f"{file}/README.md"):
            file = f"{file}/README.md"
        if not self.tree.has(file) and self.tree.is_students and not image:
            return ""
        if not self.tree.has(file):
            self.problem(link, "which does not exist or is not shown")
            return link
        if not file.endswith(".md") and not self.tree.is_image(file):
            if not self.tree.is_readable(file):
                self.problem(link, "which is not a text of at most 300 kB")
                return link
            return self.file(file) + sharp + anchor
        return self.file(file) + sharp + anchor

    def problem(self, link: str, why: str) -> None:
        """Add a broken link to the problems of the page. `why` is the reason."""
        self.result.problems.append(f"{self.page} links to {link}, {why}")


@cache
def definitions(text: str) -> dict[str, int]:
    """Return name → line number of a module's functions and classes. A method is `Class.method`."""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[node.name] = node.lineno
        if isinstance(node, ast.ClassDef):
            for member in node.body:
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                    found[f"{node.name}.{member.name}"] = member.lineno
    return found


def rewrite(tree: Tree, page: str) -> Rewritten:
    """Return the page as MkDocs reads it, with its film if it has one.

    Raises OSError if the page cannot be read.
    """
    work = _Page(tree, page)
    film, whole = film_of(tree, page), tree.text(page)
    if page in tree.moments:
        chapter, names = tree.moments[page]
        whole = with_moments(whole, chapter, names, relative(page, LIVE_PAGE))
    if film is not None:
        whole = with_film(whole, film)
    text = "".join(
        part if is_code else _PIECE.sub(work.piece, _COMMENT.sub("", part))
        for is_code, part in parts_of(whole)
    )
    return work.result._replace(text=text)
