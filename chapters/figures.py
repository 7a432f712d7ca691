"""Write the figures of all chapters: `python -m chapters.figures`.

Each `chNN_slug/figures/NAME.dot` is drawn from what the real classes emit, and NAME.svg is its
layout. Both are the same bytes on every machine.
"""

from collections.abc import Mapping
from pathlib import Path

import graphviz

from .chapter import find_chapters
from .drawing import write_figure


def figures() -> Mapping[Path, graphviz.Digraph]:
    """Return each figure, by the path of its DOT source."""
    return {
        chapter.folder / "figures" / f"{name}.dot": figure
        for chapter in find_chapters().values()
        for name, figure in chapter.figures().items()
    }


def main() -> None:
    """Write all of them."""
    for path, figure in figures().items():
        for written in write_figure(path.parent, path.stem, figure):
            print(written)


if __name__ == "__main__":
    main()
