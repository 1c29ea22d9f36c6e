"""Signals: what a running source is told to do, such as to read a table again, and the channels that bring them."""

from __future__ import annotations

from cdckit.connector.signals.channels import FileChannel, InProcessChannel, SignalChannel, send
from cdckit.connector.signals.mailbox import Mailbox
from cdckit.connector.signals.options import SignalOptions
from cdckit.connector.signals.signal import Signal
from cdckit.connector.signals.snapshot_request import Condition, SnapshotRequest, StopRequest

__all__ = [
    "Condition",
    "FileChannel",
    "InProcessChannel",
    "Mailbox",
    "Signal",
    "SignalChannel",
    "SignalOptions",
    "SnapshotRequest",
    "StopRequest",
    "send",
]
