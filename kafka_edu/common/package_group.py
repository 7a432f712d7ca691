"""Install optional packages when a command first needs them, for example Spark or the test tools.

The groups of packages are the optional dependencies in pyproject.toml. If the script `./kafka-edu`
has made the environment, this module prints the size of the packages and installs them at once. In
any other environment, the error message says how to install them.
"""

import importlib
import importlib.util
import sys
from pathlib import Path

from kafka_edu.common.environment_setup import STAMPS, SetupError, install_groups
from kafka_edu.common.python_process import checkout, command_line


class PackageGroupError(Exception):
    """The packages are missing and could not be installed.

    The message says what the user can do.
    """


def how_to_install(group: str) -> str:
    """Return the command that installs a group in this environment."""
    if checkout() is not None:
        return command_line(f"setup {group}")
    return f"pip install 'kafka-edu[{group}]'"


def install(group: str) -> None:
    """Install the missing packages of a group. Raise PackageGroupError if that is impossible."""
    environment = Path(sys.prefix)
    if checkout() is None:
        raise PackageGroupError(
            f"This installation is not a checkout. Install the packages with:"
            f" {how_to_install(group)}"
        )
    if not (environment / STAMPS).is_dir():
        raise PackageGroupError(
            f"The environment {environment} was not made by ./kafka-edu, so it is not changed."
            f" Install the packages with: pip install --requirement requirements/{group}.txt"
        )
    try:
        install_groups(environment, [group])
    except SetupError as error:
        raise PackageGroupError(str(error)) from None
    importlib.invalidate_caches()


def ensure_group(group: str, *modules: str) -> None:
    """Install the group if one of its `modules` cannot be imported.

    Raise PackageGroupError if one of them is still missing after that.
    """
    missing = _missing(modules)
    if not missing:
        return
    try:
        install(group)
    except PackageGroupError as error:
        raise PackageGroupError(f"{', '.join(missing)} is not installed. {error}") from None
    if _missing(modules):
        raise PackageGroupError(
            f"The packages of '{group}' are installed, and yet {', '.join(_missing(modules))} is"
            f" missing. Remove the folder {sys.prefix} and start again."
        )


def _missing(modules: tuple[str, ...]) -> list[str]:
    return [module for module in modules if importlib.util.find_spec(module) is None]
