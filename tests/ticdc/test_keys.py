"""Keys: where messages have none, what the user names; and what becomes of a row whose key changes."""

from __future__ import annotations

import pytest

from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.connector.envelope import NEW_KEY, OLD_KEY
from cdckit.errors import DecodeError
from cdckit_ticdc.decoding.decoder import DecoderOptions
from cdckit_ticdc.decoding.protocols import make_decoder
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.message import Message
from ticdc.recordings import envelope_of, lines, records_of
from ticdc.test_recordings import decoder_of

KEYS = {"test.composite_pk": ("tenant", "seq")}


def keyless() -> list[Message]:
    """What v8.0 to v8.4 write: the messages of v8.5 without keys."""
    return [line.message._replace(key=None) for line in lines("debezium-classic-v8.5.0", "composite_pk")]


def decoded(messages: list[Message], options: DecoderOptions) -> list[Record]:
    decoder = make_decoder("debezium", options, Definitions(), None)
    return [record for message in messages for record in records_of(decoder, message)]


def test_versions_that_write_no_keys() -> None:
    """Rows are whole; a key is there only where the user names its columns."""
    plain = decoded(keyless(), DecoderOptions())
    keyed = decoded(keyless(), DecoderOptions(keys=KEYS))
    assert [envelope_of(one)["op"] for one in plain] == [envelope_of(one)["op"] for one in keyed] == [*"cudc"]
    assert {one.key for one in plain} == {None}
    assert [one.key.to_dict() for one in keyed if isinstance(one.key, Struct)] == [
        {"tenant": "acme", "seq": 1}, {"tenant": "acme", "seq": 1}, {"tenant": "acme", "seq": 1},
        {"tenant": "acme", "seq": -1},
    ]  # fmt: skip


def test_named_keys_are_stronger_than_the_messages() -> None:
    messages = [line.message for line in lines("debezium-classic-v8.5.0", "composite_pk")]
    (first, *_) = decoded(messages, DecoderOptions(keys={"test.composite_pk": ("seq",)}))
    assert isinstance(first.key, Struct)
    assert first.key.to_dict() == {"seq": 1}


def test_a_named_column_that_is_missing() -> None:
    with pytest.raises(
        DecodeError, match=r"table test\.composite_pk: the key's column 'nothing' is none of its columns"
    ):
        decoded(keyless(), DecoderOptions(keys={"test.composite_pk": ("nothing",)}))


def test_a_delete_with_a_tombstone() -> None:
    """The record without value follows, of the same key and behind it in order."""
    messages = [line.message for line in lines("debezium-classic-v8.5.0", "composite_pk")]
    records = decoded(messages, DecoderOptions(tombstones=True))
    gone = next(number for number, one in enumerate(records) if one.value and envelope_of(one)["op"] == "d")
    delete, tombstone = records[gone : gone + 2]
    assert tombstone.value is None
    assert tombstone.key == delete.key
    assert tombstone.position > delete.position
    assert [one.value for one in decoded(messages, DecoderOptions())].count(None) == 0


@pytest.mark.parametrize("folder", ["debezium-ticdc", "canal-json-tidbext", "open-protocol", "simple-json"])
def test_a_changed_key_in_one_piece_is_a_delete_and_a_create(folder: str) -> None:
    """As the `mysql` source shows it: each half names the other's key."""
    decoder = decoder_of(folder, "pk_update_raw")
    records = [
        event
        for line in lines(folder, "pk_update_raw")
        for event in decoder.decode(line.message)
        if isinstance(event, Record)
    ]
    gone, come = records[-2:]
    assert [envelope_of(one)["op"] for one in (gone, come)] == ["d", "c"]
    assert gone.key != come.key
    new, old = gone.header(NEW_KEY), come.header(OLD_KEY)
    assert new is not None
    assert old is not None
    assert (new.value, old.value) == (come.key, gone.key)
    assert gone.position < come.position


@pytest.mark.parametrize("folder", ["debezium-ticdc", "canal-json-tidbext", "open-protocol", "simple-json", "avro"])
def test_a_changed_key_in_two_pieces_stays_two(folder: str) -> None:
    decoder = decoder_of(folder, "pk_update_split")
    records = [
        event
        for line in lines(folder, "pk_update_split")
        for event in decoder.decode(line.message)
        if isinstance(event, Record)
    ]
    assert [envelope_of(one)["op"] for one in records[-2:]] == ["d", "c"]
