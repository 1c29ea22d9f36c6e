"""Messages that are damaged: records that can be written, or an error with their place; never another exception."""

from __future__ import annotations

from random import Random

import pytest

from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.errors import DecodeError
from cdckit_ticdc.decoding.decoder import Decoder
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import LogOffset, Partition
from cdckit_ticdc.ordering.assembler import Assembler, Limits
from cdckit_ticdc.reading.lines import read_line
from cdckit_ticdc.reading.log import Chunk
from fuzz.documents import mutated_bytes, mutated_document
from ticdc.recordings import DATA, lines, scenarios
from ticdc.test_recordings import PROTOCOLS, decoder_of

TOPIC = "t"
KEPT = [
    ("canal-json", "composite_pk", (b'["tenant","seq"]', b'["tenant","seq","seq"]')),
    ("canal-json-tidbext", "", (b'"watermarkTs":', b'"watermarkTs":"x","y":')),
    ("simple-json", "ddl", (b'"commitTs":', b'"commitTs":"0x","y":')),
    ("debezium-ticdc-noschema", "ddl", (b'"commit_ts":', b'"commit_ts":{},"y":')),
    ("open-protocol", "all_null", (b'"t":3,"h":true,"f":11,"v":2', b'"t":7,"h":true,"f":1,"v":[]')),
]
"""What once ended with another exception: the recording, its scenario, and what is replaced in a message."""
SERIALIZER = JsonSerializer(JsonConfig())


def _recorded(folder: str) -> list[Message]:
    found = [line.message for name in scenarios(folder) for line in lines(folder, name) if line.error is None]
    return [message._replace(topic=TOPIC, partition=0) for message in found]


def _mutated(message: Message, random: Random) -> Message:
    """One or both of key and value are others."""
    key, value = random.choice(((False, True), (False, True), (True, False), (True, True)))
    if key:
        message = message._replace(key=_part(message.key, random))
    return message._replace(value=_part(message.value, random)) if value else message


def _part(data: bytes | None, random: Random) -> bytes | None:
    if data is None or random.random() < 0.02:
        return None if data is not None else random.randbytes(9)
    if data[:1] in (b"{", b"[") and random.random() < 0.7:
        return mutated_document(data, random)
    return mutated_bytes(data, random)


def _taken(decoder: Decoder, message: Message) -> None:
    """What a source does with a message, and a pipeline with what comes out."""
    assembler = Assembler(decoder, LogOffset({}), [], Limits(), lambda ddl: None, watermarked=False)
    try:
        assembler.take(Chunk(Partition(TOPIC, 0), [message], 1, 1))
        for batch in assembler.batches(all_held=True):
            SERIALIZER.serialize(batch.records)
    finally:
        assembler.close()


@pytest.mark.parametrize("folder", PROTOCOLS)
def test_damaged_messages(folder: str, cases: range) -> None:
    recorded = _recorded(folder)
    decoder, told = decoder_of(folder), 0
    for seed in cases[: len(cases) // len(PROTOCOLS)]:
        random = Random(seed)
        if seed % 500 == 0:
            decoder = decoder_of(folder)  # what damaged definitions have taught is forgotten
        message = _mutated(random.choice(recorded), random)
        try:
            decoder.peek(message)
            _taken(decoder, message)
        except DecodeError as error:
            told += 1
            assert message.place in str(error)
        except Exception as error:
            raise AssertionError(f"{folder}, seed {seed}: {type(error).__name__} for {message}") from error
    assert told


@pytest.mark.parametrize(("folder", "name", "damage"), KEPT)
def test_what_was_found_stays_mended(folder: str, name: str, damage: tuple[bytes, bytes]) -> None:
    message = next(one for one in _recorded(folder) if name in str(one.file) and damage[0] in (one.value or b""))
    message = message._replace(value=(message.value or b"").replace(*damage))
    with pytest.raises(DecodeError):
        _taken(decoder_of(folder), message)


def test_damaged_lines(cases: range) -> None:
    """Of files that recorded messages, in each of the forms."""
    written = [text for path in sorted(DATA.glob("*/*.jsonl")) for text in path.read_bytes().splitlines()[:3]]
    written.append(b'{"topic":"t","partition":0,"offset":1,"ts":1,"headers":["a","b"],"key":"k","payload":"{}"}')
    written.append(b'{"topic":"t","key":{"id":1},"value":{"a":1},"headers":[{"key":"a","value":1}],"timestamp":1}')
    for seed in cases:
        random = Random(seed)
        line = _part(random.choice(written), random)
        try:
            read_line(line or b"x", "file.jsonl", 7)
        except DecodeError as error:
            assert "file.jsonl, byte 7" in str(error)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__} for {line!r}") from error
