"""Messages that are cut off or damaged: an error with their place, never another exception, never a row."""

from __future__ import annotations

import random

import pytest

from cdckit.errors import DecodeError
from cdckit_ticdc.decoding.decoder import Decoder
from cdckit_ticdc.message import Message
from ticdc.recordings import lines
from ticdc.test_recordings import PROTOCOLS, decoder_of


def recorded(folder: str) -> tuple[Decoder, list[Message]]:
    """A decoder that knows the definitions, and the recorded rows that have a value."""
    decoder, rows = decoder_of(folder), []
    for scenario in ("all_types", "composite_pk", "null_over_default"):
        for line in lines(folder, scenario):
            if line.kind == "row" and line.error is None and line.message.value is not None:
                rows.append(line.message)
            elif line.error is None and line.message.value is not None:
                decoder.decode(line.message)
    return decoder, rows


@pytest.mark.parametrize("folder", PROTOCOLS)
def test_a_message_that_is_cut_off_is_refused(folder: str) -> None:
    """Wherever the value ends too early."""
    chance = random.Random(1)
    decoder, rows = recorded(folder)
    for message in rows:
        value = message.value or b""
        for cut in (0, 1, len(value) - 1, *(chance.randrange(len(value)) for _ in range(20))):
            with pytest.raises(DecodeError, match="byte"):
                decoder.decode(message._replace(value=value[:cut]))


@pytest.mark.parametrize("folder", PROTOCOLS)
def test_a_damaged_message_raises_nothing_but_the_error(folder: str) -> None:
    """Changed bytes may make another valid message; what they may not do is to end in any other exception."""
    chance = random.Random(2)
    decoder, rows = recorded(folder)
    refused = 0
    for message in rows:
        for _ in range(40):
            value = bytearray(message.value or b"")
            for _ in range(chance.randint(1, 4)):
                value[chance.randrange(len(value))] = chance.randrange(256)
            try:
                decoder.decode(message._replace(value=bytes(value)))
            except DecodeError as error:
                refused += 1
                assert "byte" in str(error)
    assert refused > 0
