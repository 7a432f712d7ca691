"""The files of the checkout that the site shows: its pages, and the files that pages link to."""

import posixpath
from pathlib import Path
from typing import Final

#: Pages of the site, as patterns below the checkout. Pages that they link to belong to it too.
PAGES: Final = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/*.md",
    "chapters/ch*/*.md",
    "exercises/ch*/ex*/README.md",
)
#: Folders whose files a page may show. A checkout also holds work of learners and environments.
_FOLDERS: Final = (
    ".ci",
    "benchmarks",
    "chapters",
    "docs",
    "exercises",
    "kafka_edu",
    "requirements",
    "tests",
    "tui",
)
#: Answers stay out of the site.
_SOLUTIONS: Final = "exercises/solutions"
_ANSWERS: Final = (f"{_SOLUTIONS}/", "exercises/wrong/", "exercises/mutation.toml")
_EXERCISES: Final = "exercises/"
_README: Final = "README.md"
_HIDDEN_TESTS: Final = "hidden_tests.py"
_IMAGES: Final = (".svg", ".png", ".jpg", ".gif")
_LARGEST: Final = 300_000
"""Bytes of the largest file that gets a source page."""


class Tree:
    """The checkout as the site sees it. All paths are relative to it and have forward slashes."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def pages(self) -> list[str]:
        """Return the pages that belong to the site without a link from another page, sorted."""
        found = {
            path.relative_to(self.root).as_posix()
            for pattern in PAGES
            for path in self.root.glob(pattern)
        }
        return sorted(found)

    @property
    def is_students(self) -> bool:
        """Return whether this is a student's copy (`lab export --student`), which lacks files."""
        return not (self.root / _SOLUTIONS).is_dir()

    def text(self, path: str) -> str:
        """Return the text of a file."""
        return (self.root / path).read_text(encoding="utf-8")

    def is_folder(self, path: str) -> bool:
        """Return whether the path is a folder of the checkout."""
        return (self.root / path).is_dir()

    def has(self, path: str) -> bool:
        """Return whether the site may show this file. Answers of exercises it may not."""
        first, slash, _ = path.partition("/")
        return (
            (not slash or first in _FOLDERS)
            and not path.startswith(_ANSWERS)
            and posixpath.basename(path) != _HIDDEN_TESTS
            and "__pycache__" not in path
            and (self.root / path).is_file()
        )

    def is_image(self, path: str) -> bool:
        """Return whether the file is shown as a picture."""
        return posixpath.splitext(path)[1].lower() in _IMAGES

    def is_readable(self, path: str) -> bool:
        """Return whether the file is a text that a source page can show."""
        content = (self.root / path).read_bytes()
        if len(content) > _LARGEST:
            return False
        try:
            content.decode()
        except UnicodeDecodeError:
            return False
        return True


def staged_page(path: str) -> str:
    """Return the place of a page in the site. The theme takes the first README.md of a section for
    the section's own page and leaves it out of the list, so an exercise's page has another name.
    """
    folder, name = posixpath.split(path)
    return (
        f"{folder}/exercise.md" if f"{folder}/".startswith(_EXERCISES) and name == _README else path
    )


def source_page(path: str) -> str:
    """Return the page that shows a source file. MkDocs leaves out names that begin with a dot."""
    parts = [f"dot-{part[1:]}" if part.startswith(".") else part for part in path.split("/")]
    return f"source/{'/'.join(parts)}.md"


def resolve(page: str, link: str) -> str:
    """Return the path in the checkout that a link of a page leads to. It may begin with `..`."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def relative(page: str, path: str) -> str:
    """Return the link that leads from a page to a path."""
    return posixpath.relpath(path, posixpath.dirname(page) or ".")
