"""The files of the checkout that the site shows: its pages, and the files that they link to."""

import posixpath
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Final

#: Patterns of the pages that belong to the site. If these pages link to other pages, those belong
#: to the site too.
PAGES: Final = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "chapters/ch*/*.md",
    "exercises/ch*/ex*/README.md",
)
#: Folders with files that a page may show. A checkout also has folders with learners' work and with
#: Python environments, which stay out of the site.
_FOLDERS: Final = (
    ".ci",
    "benchmarks",
    "chapters",
    "docs",
    "exercises",
    "kafka_edu",
    "page",
    "requirements",
    "tests",
    "tui",
)
#: The folder with the solutions of the exercises. The site does not show it.
_SOLUTIONS: Final = "exercises/solutions"
_ANSWERS: Final = (f"{_SOLUTIONS}/", "exercises/wrong/", "exercises/mutation.toml")
_EXERCISES: Final = "exercises/"
_README: Final = "README.md"
_HIDDEN_TESTS: Final = "hidden_tests.py"
LIVE_PAGE: Final = "live/index.html"
"""The page of the site that runs the brokers in the browser."""
_IMAGES: Final = (".svg", ".png", ".jpg", ".gif")
_LARGEST: Final = 300_000
"""Size limit in bytes: a larger file gets no page that shows its source."""


class Tree:
    """The files of the checkout that the site can use.

    All paths are relative to the root of the checkout and have forward slashes.
    """

    def __init__(self, root: Path, moments: Mapping[str, tuple[str, Collection[str]]] = {}) -> None:
        """`moments` has an entry for each chapter in the live page: the chapter's page → the
        chapter, and the names of the marked numbers that its simulated run measures. Without a live
        page, it is empty.
        """
        self.root = root
        self.moments = moments

    def pages(self) -> list[str]:
        """Return the sorted paths of the pages that match PAGES.

        These pages belong to the site even if no other page links to them.
        """
        found = {
            path.relative_to(self.root).as_posix()
            for pattern in PAGES
            for path in self.root.glob(pattern)
        }
        return sorted(found)

    @property
    def is_students(self) -> bool:
        """Return whether this checkout is a student's copy, made by `lab export --student`.

        Such a copy lacks some files.
        """
        return not (self.root / _SOLUTIONS).is_dir()

    def text(self, path: str) -> str:
        """Return the contents of a text file."""
        return (self.root / path).read_text(encoding="utf-8")

    def is_folder(self, path: str) -> bool:
        """Return whether the path is a folder of the checkout."""
        return (self.root / path).is_dir()

    def has(self, path: str) -> bool:
        """Return whether the site may show this file. The site hides the answers of exercises."""
        first, slash, _ = path.partition("/")
        return (
            (not slash or first in _FOLDERS)
            and not path.startswith(_ANSWERS)
            and posixpath.basename(path) != _HIDDEN_TESTS
            and "__pycache__" not in path
            and (self.root / path).is_file()
        )

    def is_image(self, path: str) -> bool:
        """Return whether the file is a picture."""
        return posixpath.splitext(path)[1].lower() in _IMAGES

    def is_readable(self, path: str) -> bool:
        """Return whether the file is a text that the site can show on a page."""
        content = (self.root / path).read_bytes()
        if len(content) > _LARGEST:
            return False
        try:
            content.decode()
        except UnicodeDecodeError:
            return False
        return True


def staged_page(path: str) -> str:
    """Return the path of a page in the site. An exercise's README.md gets a different name.

    The theme would take the first README.md of a section as the page of the whole section, and
    would leave it out of the list.
    """
    folder, name = posixpath.split(path)
    return (
        f"{folder}/exercise.md" if f"{folder}/".startswith(_EXERCISES) and name == _README else path
    )


def source_page(path: str) -> str:
    """Return the path of the page that shows a source file.

    Names that begin with a dot are changed, because MkDocs leaves such files out.
    """
    parts = [f"dot-{part[1:]}" if part.startswith(".") else part for part in path.split("/")]
    return f"source/{'/'.join(parts)}.md"


def resolve(page: str, link: str) -> str:
    """Return the path in the checkout to which a link on a page leads. The path may begin with
    `..`.
    """
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def relative(page: str, path: str) -> str:
    """Return the relative link from the page `page` to the file `path`."""
    return posixpath.relpath(path, posixpath.dirname(page) or ".")
