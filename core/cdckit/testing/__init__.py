"""Suites that hold a plugin to its contract: subclass one in a test module, and pytest runs it.

They need pytest, which cdckit itself does not install.
"""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite(
    "cdckit.testing.component_suite",
    "cdckit.testing.predicate_suite",
    "cdckit.testing.record_suite",
    "cdckit.testing.serializer_suite",
    "cdckit.testing.sink_suite",
    "cdckit.testing.source_suite",
    "cdckit.testing.state_store_suite",
    "cdckit.testing.transform_suite",
)

from cdckit.testing.component_suite import ComponentSuite  # noqa: E402 - rewriting must be asked for first
from cdckit.testing.events import change_events  # noqa: E402
from cdckit.testing.notices import RecordedNotices  # noqa: E402
from cdckit.testing.predicate_suite import PredicateSuite  # noqa: E402
from cdckit.testing.record_suite import RecordSuite  # noqa: E402
from cdckit.testing.serializer_suite import SerializerSuite  # noqa: E402
from cdckit.testing.sink_suite import Delivered, SinkSuite  # noqa: E402
from cdckit.testing.source_suite import SourceSuite  # noqa: E402
from cdckit.testing.state_store_suite import StateStoreSuite  # noqa: E402
from cdckit.testing.transform_suite import TransformSuite  # noqa: E402

__all__ = [
    "ComponentSuite",
    "Delivered",
    "PredicateSuite",
    "RecordSuite",
    "RecordedNotices",
    "SerializerSuite",
    "SinkSuite",
    "SourceSuite",
    "StateStoreSuite",
    "TransformSuite",
    "change_events",
]
