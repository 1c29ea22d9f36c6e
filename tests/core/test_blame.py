"""An error that is none of the tree's is told with the plugin that raised it, also out of another process."""

from __future__ import annotations

import pytest

from cdckit.api.messages import Messages
from cdckit.engine.blame import unexpected
from cdckit.engine.spark.failures import WorkerError, recover, sealed_errors
from cdckit.errors import CdcError, SinkError
from cdckit_file.file import FileSink

NOTHING = Messages([], [], [], [], [], [], [])
TOLD = "unexpected AttributeError in the plugin 'file' (cdckit "


def _fails() -> None:
    """A sink that was not made, let alone opened."""
    FileSink.write(object.__new__(FileSink), NOTHING)


def test_the_plugin_is_named_and_the_stage_is_its_components() -> None:
    with pytest.raises(AttributeError) as raised:
        _fails()
    error = unexpected(raised.value)
    assert type(error) is SinkError
    assert str(error).startswith(TOLD)


def test_what_is_no_plugins_fault_has_no_stage() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        _ = 1 / 0
    error = unexpected(raised.value)
    assert (type(error), str(error)) == (CdcError, "unexpected ZeroDivisionError: division by zero")


def test_it_leaves_a_worker_of_sparks() -> None:
    with pytest.raises(WorkerError) as raised, sealed_errors():
        _fails()
    error = recover(str(raised.value))
    assert isinstance(error, SinkError)
    assert str(error).startswith(TOLD)


def test_what_is_no_plugins_fault_leaves_it_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError), sealed_errors():
        _ = 1 / 0
