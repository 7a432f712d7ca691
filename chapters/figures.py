"""Write the figures of all chapters: `python -m chapters.figures`.

Each `chNN_slug/figures/NAME.dot` is drawn from the output of the real classes. NAME.svg is its
layout. Both files have the same bytes on every machine.
"""

from collections.abc import Mapping
from pathlib import Path

import graphviz

from .chapter import find_chapters
from .drawing import write_figure


def figures() -> Mapping[Path, graphviz.Digraph]:
    """Return path of the DOT source → figure, for all chapters."""
    return {
        chapter.folder / "figures" / f"{name}.dot": figure
        for chapter in find_chapters().values()
        for name, figure in chapter.figures().items()
    }


def main() -> None:
    """Write all figures."""
    for path, figure in figures().items():
        for written in write_figure(path.parent, path.stem, figure):
            print(written)


if __name__ == "__main__":
    main()
