"""Ctrl-C ends the tests in good order, at any moment."""

import types

import pytest

from tests.conftest import Stopped, pytest_keyboard_interrupt


def test_a_frame_without_a_line_is_left_out() -> None:
    try:
        raise Stopped("by Ctrl-C")
    except Stopped as error:
        here = error.__traceback__
        assert here is not None
        nowhere = types.TracebackType(here, here.tb_frame, here.tb_lasti, -1)
        excinfo = pytest.ExceptionInfo.from_exception(error)
    entries = excinfo.traceback
    excinfo.traceback = type(entries)([*entries, *type(entries)(_WithoutLine(nowhere))])
    with pytest.raises(TypeError):
        excinfo.getrepr(funcargs=True)
    pytest_keyboard_interrupt(excinfo)
    assert "by Ctrl-C" in str(excinfo.getrepr(funcargs=True))


class _WithoutLine(list):  # type: ignore[type-arg]
    """A traceback with one entry that has no line number, as after an interrupt between two
    lines.
    """

    def __init__(self, raw: types.TracebackType) -> None:
        entry = pytest.ExceptionInfo.from_exception(Stopped().with_traceback(raw)).traceback[0]
        entry._rawentry = types.SimpleNamespace(tb_lineno=None, tb_frame=raw.tb_frame, tb_next=None)
        super().__init__([entry])
