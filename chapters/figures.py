"""Write the figures of all chapters: `python -m chapters.figures`.

Each `chNN_slug/figures/NAME.dot` is drawn from what the real classes emit. Graphviz makes NAME.svg
of it.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from .chapter import find_chapters
from .drawing import write_figure


def sources() -> Mapping[Path, str]:
    """Return the DOT source of each figure, by its path."""
    return {
        chapter.folder / "figures" / f"{name}.dot": source
        for chapter in find_chapters().values()
        for name, source in chapter.figures().items()
    }


def main() -> int:
    """Write all of them. Return 1 where Graphviz is missing."""
    written: list[Path] = []
    for path, source in sources().items():
        written += write_figure(path.parent, path.stem, source)
    for path in written:
        print(path)
    return 0 if any(path.suffix == ".svg" for path in written) else 1


if __name__ == "__main__":
    sys.exit(main())
