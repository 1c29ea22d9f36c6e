"""Images that other processes hash are the entries that this process makes of them."""

from __future__ import annotations

import pickle

import pytest
from pyspark.sql import Row

from cdckit.api.held import Hashing, Image, ImageHashes
from cdckit.engine.proof.entries import Entries
from cdckit.engine.proof.hashing import HashName, hash_of
from cdckit.tables.hashed_images import hashed, packet, unpacked, wanted_places

IMAGES = [
    Image("t", b'{"id":1}', b"one", "0-1"),
    Image("t", b'{"id":2}', None, "0-2"),
    Image("t", b'{"id":3}', b"three", "0-3-long"),
]


def sent(hashes: ImageHashes) -> ImageHashes:
    """As the driver gets it."""
    [row] = packet(hashes).to_pylist()
    return unpacked(Row(**row))


@pytest.mark.parametrize("name", ["xxh3", "blake2b"])
@pytest.mark.parametrize("positioned", [False, True])
@pytest.mark.parametrize("images", [IMAGES, IMAGES[::2]])
def test_entries_are_the_same(name: HashName, positioned: bool, images: list[Image]) -> None:
    entries = Entries(hash_of(name), positioned=positioned)
    entries.number("another")
    hashing: Hashing = pickle.loads(pickle.dumps(entries.hashing(())))
    keys, rows = [image.key or b"" for image in images], [image.row for image in images]
    positions = [image.position for image in images] if positioned else None
    found = sent(hashed("t", keys, rows, hashing, positions))
    assert entries.of_hashes(found).tobytes() == b"".join(entries.of(images))


def test_a_key_of_its_own_makes_others_hashes() -> None:
    one, other = hash_of("blake2b"), hash_of("blake2b")
    assert one(b"x") != other(b"x")
    assert one(b"x") == pickle.loads(pickle.dumps(one))(b"x")


def test_images_of_wanted_keys_come_whole() -> None:
    entries = Entries(hash_of("xxh3"))
    hashing = entries.hashing([entries.key("t", b'{"id":2}'), entries.key("u", b'{"id":1}')])
    made = hashed("t", [image.key or b"" for image in IMAGES], [image.row for image in IMAGES], hashing)
    assert wanted_places(made, hashing) == [1]
    told = [image._replace(told=b"\x01\x02") for image in IMAGES[:2]]
    found = sent(ImageHashes("t", wanted=told, undecidable="why", dropped=["s.t"]))
    assert (found.wanted, found.undecidable, list(found.dropped)) == (tuple(told), "why", ["s.t"])
