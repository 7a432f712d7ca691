"""Settings for all tests."""

import gc
import importlib.util
import os
import signal
from typing import NoReturn

import pytest
from _pytest.tmpdir import tmppath_result_key

from tests import hypothesis_profiles
from tests.drawn import is_chosen

# A shell starts its background jobs with SIGINT ignored. Every process that a test starts, and
# means to interrupt, would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Stopped(KeyboardInterrupt):
    """Ctrl-C. For a KeyboardInterrupt of that name pytest prints where it was raised and how to see
    more. For this one it prints one line.
    """


def _stop(signum: int, frame: object) -> NoReturn:
    raise Stopped("by Ctrl-C")


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _stop)


@pytest.hookimpl(tryfirst=True)
def pytest_keyboard_interrupt(excinfo: "pytest.ExceptionInfo[KeyboardInterrupt]") -> None:
    """Leave out the frames without a line. A Ctrl-C can come between two lines, and pytest cannot
    show such a frame.
    """
    excinfo.traceback = excinfo.traceback.filter(
        lambda entry: entry._rawentry.tb_lineno is not None
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give `tmp_path` the results that it reads at its end. pytest writes them after the
    set-up. A Ctrl-C in the set-up comes before that, and pytest would end in a KeyError.
    """
    item.stash.setdefault(tmppath_result_key, {})


hypothesis_profiles.load(os.environ)


_FOR_DEVELOPERS = pytest.mark.skip(
    reason="it checks the source of the project, for developers: ./kafka-edu setup dev"
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the tests with the mark `source` on a machine without the developers' packages. Of the
    tests with the mark `rotated`, leave out those that this commit does not run.

    A test that the command line names is run, and so are all tests of the long tier.
    """
    if any("::" in argument for argument in config.args):
        return
    if importlib.util.find_spec("mypy") is None:  # the group dev is not there
        for item in items:
            if item.get_closest_marker("source"):
                item.add_marker(_FOR_DEVELOPERS)
    left_out = [
        item for item in items if item.get_closest_marker("rotated") and not is_chosen(item.nodeid)
    ]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """Set aside all objects that exist before the first test, modules above all. Otherwise each
    garbage collection of each test looks at them again.
    """
    gc.collect()
    gc.freeze()
