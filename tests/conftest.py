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

# A shell starts its background jobs with SIGINT ignored. The processes that a test starts would
# inherit this, and the test could not interrupt them with SIGINT.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Stopped(KeyboardInterrupt):
    """Raised for Ctrl-C. For an exception with the name KeyboardInterrupt, pytest prints where it
    was raised and how to see more. For this class it prints one line.
    """


def _stop(signum: int, frame: object) -> NoReturn:
    raise Stopped("by Ctrl-C")


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _stop)


@pytest.hookimpl(tryfirst=True)
def pytest_keyboard_interrupt(excinfo: "pytest.ExceptionInfo[KeyboardInterrupt]") -> None:
    """Leave out the stack frames that have no line number. Ctrl-C can come between two lines, and
    pytest cannot show a frame without a line number.
    """
    excinfo.traceback = excinfo.traceback.filter(
        lambda entry: entry._rawentry.tb_lineno is not None
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Store empty test results, which the fixture `tmp_path` reads at its end. pytest stores the
    results only after a test's set-up. Without this, Ctrl-C during the set-up would end in a
    KeyError.
    """
    item.stash.setdefault(tmppath_result_key, {})


hypothesis_profiles.load(os.environ)


_FOR_DEVELOPERS = pytest.mark.skip(
    reason="it checks the source of the project, for developers: ./kafka-edu setup dev"
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the tests with the mark `source` on a machine without the developers' packages. Of the
    tests with the mark `rotated`, leave out those that this commit does not run.

    If the command line names single tests (`file::test`), they all run. With KAFKA_EDU_ALL=1, all
    `rotated` tests run.
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
    """Exclude all objects that exist before the first test, mainly modules, from garbage
    collection. Otherwise each collection during the tests would look at them again.
    """
    gc.collect()
    gc.freeze()
