"""Positions: of one key they rise from message to message, in one partition; across partitions where times are told."""

from __future__ import annotations

import pytest

from cdckit.api.record import Record, lane_of
from cdckit.api.struct import Struct
from cdckit_ticdc.decoding.envelopes import EnvelopeDecoder, EnvelopeOptions
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.message import Message
from ticdc.recordings import lines, records_of, scenarios
from ticdc.test_recordings import PROTOCOLS, decoder_of, is_unkeyed_delete


def recorded(folder: str, scenario: str, partition: int = 0) -> list[Record]:
    """The records of a recording, its messages one behind the other in a partition."""
    decoder, made = decoder_of(folder, scenario), []
    for offset, line in enumerate(lines(folder, scenario)):
        message = line.message._replace(partition=partition, offset=offset)
        if line.kind != "row":
            decoder.decode(message)
        elif line.error is None and not is_unkeyed_delete(folder, line):
            made += records_of(decoder, message)
    return made


@pytest.mark.parametrize("folder", PROTOCOLS)
def test_positions_of_a_key_rise(folder: str) -> None:
    """The newest row of a key, or its delete, has the greatest position."""
    for scenario in scenarios(folder):
        newest: dict[object, str] = {}
        for record in recorded(folder, scenario):
            if isinstance(record.key, Struct):
                identity = (record.topic, record.key.values)
                assert record.position > newest.get(identity, "")
                newest[identity] = record.position


@pytest.mark.parametrize("folder", PROTOCOLS)
def test_lanes_are_told_where_times_are_not(folder: str) -> None:
    """Without times the positions of two partitions are of two lanes; with them all are of one."""
    lanes = {lane_of(record.position) for at in (1, 2) for record in recorded(folder, "composite_pk", partition=at)}
    assert len(lanes) == (1 if decoder_of(folder).times_rows else 2)


def test_lanes_of_debezium() -> None:
    """A partition is a lane, unless messages bring positions."""
    decoder = EnvelopeDecoder(EnvelopeOptions(), Definitions(), None)
    value = b'{"before":null,"after":{"id":1},"source":{"db":"d","table":"t"},"op":"c"}'
    positions = []
    for headers in ((), (("__cdckit.position", b"00042"),)):
        for partition in (1, 2):
            (record,) = decoder.decode(Message("t", partition, 7, None, value, headers=headers))
            assert isinstance(record, Record)
            positions.append(record.position)
    assert [lane_of(position) for position in positions] == ["00001", "00002", "", ""]
