"""Install the packages that requirements/*.txt lists into the environment of a checkout.

The script `kafka-edu` calls `set_up` when its environment is missing or old. At that time no
package is installed, so this module imports only the standard library. The command `setup` and
`kafka_edu.common.package_group` call `install_groups` for the groups that are installed later.

After a group is installed, a copy of its requirements file is kept in the environment, in the
folder `.kafka-edu`. A group is complete when this copy equals the requirements file.

The first installer that works is used:

1. uv, if it is on the PATH;
2. the pip of the Python that made the environment (22.3 or newer can install into another one);
3. the pip that Python contains in its module ensurepip;
4. Debian's pip: Debian and Ubuntu ship Python without ensurepip. Their archive has pip as a wheel,
   which runs without being installed and without root.
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NoReturn

#: Groups besides `main`. They are the optional dependencies in pyproject.toml.
GROUPS: Final = ("test", "dev", "spark", "apache-zookeeper", "docs", "quiz")
STAMPS: Final = ".kafka-edu"
_ROOT: Final = Path(__file__).resolve().parents[2]
_LOCKS: Final = _ROOT / "requirements"
_WHEELS: Final = _ROOT / "wheels"
"""A folder with the packages of `main`. It exists only in copies from `lab export --offline`."""
_PIP_OPTIONS: Final = ("--quiet", "--disable-pip-version-check")

ADVICE_NO_INSTALLER: Final = """\
found no way to install packages: there is no uv, and this Python has neither pip nor ensurepip.
Install one of them and start again:
  Debian, Ubuntu:  sudo apt install python3-venv
  Fedora:          sudo dnf install python3-pip
  macOS:           brew install uv"""
ADVICE_NOT_INSTALLED: Final = """\
could not install the packages of '{group}'; the lines above say why.
If the package index cannot be reached, set HTTPS_PROXY for a proxy, or PIP_INDEX_URL for a mirror.
Completely downloaded packages are kept. Start again to continue."""

SAY_EVERY_S: Final = 1.0
"""Seconds between two reports of the download's progress on a terminal."""
WRITE_EVERY_S: Final = 30.0
"""Seconds between two such reports in a file, for example the log of a CI run."""


class SetupError(Exception):
    """The packages cannot be installed. The message says what the user can do."""


def say(words: str) -> None:
    """Print a line about the progress of the installation."""
    print(f"kafka-edu: {words}", file=sys.stderr, flush=True)


def download_size_mb(group: str) -> int:
    """Return how many MB a group downloads at most.

    The table in requirements/README.md has the number.
    """
    table = (_LOCKS / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^\| `{re.escape(group)}\.txt` \| (\d+) MB \|", table, re.MULTILINE)
    if found is None:
        raise SetupError(f"requirements/README.md has no size for the group '{group}'")
    return int(found[1])


def set_up(venv: str) -> NoReturn:
    """Make the environment if it is missing, and install `main`.

    Exit with 0, or with 1 after a failure. This is the first output that a user sees, so Ctrl-C
    prints one line and no traceback.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminated)
    try:
        install_groups(Path(venv).absolute(), ["main"])
    except SetupError as error:
        say(str(error))
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        say("stopped. Fetched packages are kept, and the next start continues.")
        raise SystemExit(130) from None
    raise SystemExit(0)


def _terminated(signum: int, frame: object) -> NoReturn:
    raise SystemExit(128 + signum)


def install_groups(venv: Path, groups: Sequence[str]) -> None:
    """Install the groups that are not complete in `venv`.

    Raise SetupError if that fails.
    """
    with _locked(venv):
        missing = [group for group in groups if not _is_complete(venv, group)]
        if not missing:
            return
        _make_environment(venv)
        for group in missing:
            say(
                f"fetching the packages of '{group}', at most {download_size_mb(group)} MB,"
                f" into {venv}"
            )
            # The other groups share packages with `main`, and these may change now.
            if group == "main":
                for stamp in (venv / STAMPS).glob("*.txt"):
                    stamp.unlink()
            unfinished = venv / STAMPS / f"{group}.unfinished"
            again = unfinished.exists()
            unfinished.parent.mkdir(exist_ok=True)
            unfinished.touch()
            _install(venv, group, again)
            partial = unfinished.with_suffix(".partial")
            shutil.copyfile(_LOCKS / f"{group}.txt", partial)
            partial.rename(venv / STAMPS / f"{group}.txt")
            unfinished.unlink()
        # Compile now, so that brokers that start at the same time do not all compile the same
        # modules.
        package = _ROOT / "kafka_edu"
        _run([str(_python(venv)), "-m", "compileall", "-q", str(package)], subprocess.DEVNULL)


def _python(venv: Path) -> Path:
    return venv / "bin" / "python"


@contextlib.contextmanager
def _locked(venv: Path) -> Iterator[None]:
    """Allow only one set-up at a time. The system releases the lock when the process ends."""
    try:
        venv.mkdir(parents=True, exist_ok=True)
        folder = os.open(venv, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise SetupError(
            f"cannot make the folder {venv}: {error.strerror}. Set KAFKA_EDU_VENV to a folder that"
            " you may write to."
        ) from None
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another set-up is at work in this environment; waiting for it")
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _is_complete(venv: Path, group: str) -> bool:
    stamp = venv / STAMPS / f"{group}.txt"
    return (
        os.access(_python(venv), os.X_OK)
        and stamp.is_file()
        and stamp.read_bytes() == (_LOCKS / stamp.name).read_bytes()
    )


def _make_environment(venv: Path) -> None:
    """Make a Python environment in the folder `venv`, unless the folder has a working Python
    already.
    """
    if _runs(str(_python(venv)), "-c", "import sys; assert sys.version_info >= (3, 11)"):
        return
    if any(venv.iterdir()) and not (venv / "pyvenv.cfg").is_file():
        raise SetupError(
            f"{venv} is in the way: it is not a Python environment. Move it, or set KAFKA_EDU_VENV"
            " to"
            " another folder."
        )
    made = subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", "--clear", str(venv)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if made.returncode != 0:
        raise SetupError(f"could not make a Python environment in {venv}:\n{made.stdout}")


def _install(venv: Path, group: str, again: bool) -> None:
    """Install one group with uv. If uv does not work, use the first pip that works.

    `again` says that an earlier set-up was stopped, perhaps in the middle of a package. In this
    case, packages are installed again even if they seem to be installed.
    """
    lock = ["--require-hashes", "--requirement", str(_LOCKS / f"{group}.txt")]
    if group == "main" and _WHEELS.is_dir():
        lock += ["--no-index", "--find-links", str(_WHEELS)]
    uv = _uv(venv)
    if uv is not None:
        if _run([*uv, *lock, *(["--reinstall"] if again else [])]) == 0:
            return
        say("uv could not install them; trying pip")  # pip may know a mirror that uv does not
    for find in (_own_pip, _ensured_pip, _debian_pip):
        pip = find(venv)
        if pip is not None:
            forced = ["--force-reinstall"] if again else []
            if _run_pip([*pip, *lock, *forced], download_size_mb(group)) == 0:
                return
            break
    else:
        if uv is None:
            raise SetupError(ADVICE_NO_INSTALLER)
    raise SetupError(ADVICE_NOT_INSTALLED.format(group=group))


def _uv(venv: Path) -> list[str] | None:
    """Return the beginning of uv's command line, with the mirror and certificates that pip would
    use.

    Return None if there is no uv.
    """
    if not _runs("uv", "--version"):
        return None
    settings = {"UV_SYSTEM_CERTS": "true", "UV_NATIVE_TLS": "true", "UV_PYTHON_DOWNLOADS": "never"}
    if "PIP_INDEX_URL" in os.environ:
        settings["UV_DEFAULT_INDEX"] = os.environ["PIP_INDEX_URL"]
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    quiet = [] if sys.stderr.isatty() else ["--quiet"]
    return ["uv", "pip", "install", "--python", str(_python(venv)), "--compile-bytecode", *quiet]


def _own_pip(venv: Path) -> list[str] | None:
    """Return the command of the pip of the Python that made the environment, or None."""
    base = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
    command = [str(base), "-m", "pip", "--python", str(_python(venv))]
    return [*command, "install", *_PIP_OPTIONS] if _runs(*command, "--version") else None


def _ensured_pip(venv: Path) -> list[str] | None:
    """Install pip from Python's module ensurepip into the environment.

    Return its command, or None.
    """
    python = str(_python(venv))
    if not _runs(python, "-m", "pip", "--version") and not _runs(python, "-m", "ensurepip"):
        return None
    return [python, "-m", "pip", "install", *_PIP_OPTIONS]


def _debian_pip(venv: Path) -> list[str] | None:
    """Return the command of Debian's pip, or None. Its wheel is downloaded if it is missing."""
    fetched = venv / STAMPS / "debian-pip"
    if not (wheels := _pip_wheels(fetched)) and _runs("apt-get", "--version"):
        say("neither uv nor pip is here: getting pip from the distribution's archive, about 12 MB")
        _fetch_debian_pip(fetched)
        wheels = _pip_wheels(fetched)
    return [str(_python(venv)), f"{wheels[0]}/pip", "install", *_PIP_OPTIONS] if wheels else None


def _pip_wheels(fetched: Path) -> list[Path]:
    folders = (Path("/usr/share/python-wheels"), fetched / "usr/share/python-wheels")
    return [wheel for folder in folders for wheel in folder.glob("pip-*.whl")]


def _fetch_debian_pip(target: Path) -> None:
    """Download the Debian package python3-pip-whl, and unpack it into `target`.

    apt's own lists and cache are not changed.
    """
    with tempfile.TemporaryDirectory() as work:
        for folder in ("state/lists/partial", "cache/archives/partial"):
            Path(work, folder).mkdir(parents=True)
        apt = ["apt-get", "-qq"]
        for option in (
            f"Dir::State={work}/state",
            "Dir::State::status=/var/lib/dpkg/status",
            f"Dir::Cache={work}/cache",
            "APT::Sandbox::User=",
            "Acquire::Languages=none",
            "Debug::NoLocking=1",
        ):
            apt += ["-o", option]
        if _run([*apt, "update"]) != 0 or _run([*apt, "download", "python3-pip-whl"], cwd=work):
            return
        for package in Path(work).glob("*.deb"):
            _run(["dpkg-deb", "--extract", str(package), str(target)])


def _runs(*command: str) -> bool:
    """Return whether the command exists and succeeds.

    A name on the PATH may be a program that only fails.
    """
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _run_pip(command: list[str], most_mb: int) -> int:
    """Run pip, print the progress of its downloads, and return its exit code.

    If pip fails after it has begun to download, the connection was probably cut. In this case, run
    pip once more. Packages that pip has downloaded completely are not downloaded again.

    Until pip ends, it keeps its downloads in `pip-unpack-*` in its temporary folder.
    """
    for last in (False, True):
        with tempfile.TemporaryDirectory(prefix="kafka-edu-fetch-") as folder:
            fetched = _Fetched(Path(folder), most_mb)
            # pip before 25.1 ignores the second variable
            environment = {"TMPDIR": folder, "PIP_RESUME_RETRIES": "5"}
            try:
                code = _run(command, environment=environment, meanwhile=fetched.look)
            finally:
                fetched.end()
        if code == 0 or last or not fetched.begun:
            break
        say("the download was not completed; trying once more")
    return code


class _Fetched:
    """Prints how many MB pip has downloaded: on a terminal in one line that changes, in a file
    every 30 s.
    """

    def __init__(self, folder: Path, most_mb: int) -> None:
        self._folder = folder
        self._most_mb = most_mb
        self._on_terminal = sys.stderr.isatty()
        self._began_s = self._said_s = time.monotonic()
        self._shown = ""
        self._most_seen = 0
        self.begun = False
        """Whether pip has begun to download."""

    def look(self) -> None:
        """Print the size of the downloads if the last report is old enough."""
        self.begun = self.begun or any(self._folder.glob("pip-unpack-*/*"))
        now_s = time.monotonic()
        if now_s - self._said_s < (SAY_EVERY_S if self._on_terminal else WRITE_EVERY_S):
            return
        self._said_s = now_s
        size = 0
        for path in self._folder.glob("pip-unpack-*/*"):
            with contextlib.suppress(OSError):  # it was just moved
                size += path.stat().st_size
        self._most_seen = size = max(size, self._most_seen)  # pip tidies up before it ends
        words = (
            f"{size / 1e6:,.0f} of at most {self._most_mb} MB after {now_s - self._began_s:,.0f} s"
        )
        if self._on_terminal:
            self._shown = f"\rkafka-edu: {words}".ljust(len(self._shown))
            print(self._shown, end="", file=sys.stderr, flush=True)
        else:
            say(words)

    def end(self) -> None:
        """End the line that shows the progress on a terminal."""
        if self._shown:
            print(file=sys.stderr, flush=True)


def _run(
    command: list[str],
    output: int | None = None,
    cwd: str | None = None,
    *,
    environment: Mapping[str, str] = MappingProxyType({}),
    meanwhile: Callable[[], None] = lambda: None,
) -> int:
    """Run a command with its output on standard error, and return its exit code.

    `meanwhile` is called ten times a second while the command runs. The command runs in its own
    process group. So a Ctrl-C at the terminal does not reach the command, and the command prints
    nothing about it. When this process is stopped, it stops the command.
    """
    environment = os.environ | {"PIP_ROOT_USER_ACTION": "ignore"} | dict(environment)
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr if output is None else output,
        stderr=output,
        env=environment,
        cwd=cwd,
        process_group=0,
    ) as process:
        try:
            while True:
                try:
                    return process.wait(0.1)
                except subprocess.TimeoutExpired:
                    meanwhile()
        finally:
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
