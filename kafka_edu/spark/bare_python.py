"""Make a Python that has numpy and pyarrow and nothing else, as the machines of a cluster have it.

It shows what the executors need: our code comes to them as a zip (`code_zip`), and PySpark's own as
the zip that Spark ships. The packages are links to those that run this program, so it takes no
download and a tenth of a second.
"""

import importlib.util
import sys
import venv
from pathlib import Path
from typing import Final

PACKAGES: Final = ("numpy", "pyarrow")


def make_bare_python(folder: Path) -> Path:
    """Make the environment in `folder`, and return its interpreter.

    Raises ModuleNotFoundError if a package is missing here too.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    place = folder / "lib" / version / "site-packages"
    for name in PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"there is no package {name}")
        package = Path(spec.origin).parent
        for part in (package, package.with_name(f"{name}.libs")):
            if part.is_dir():
                (place / part.name).symlink_to(part)
    return folder / "bin" / "python"
