"""Resume tokens of change streams: the time and the place in a transaction that they hold.

A token's `_data` is hexadecimal text of a key string: a timestamp, the token's version, its kind, the number of the
operation in its transaction, and more (MongoDB's source, `src/mongo/db/pipeline/resume_token.h` and
`src/mongo/db/storage/key_string.h`). It is read, never made, here.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any

from bson import decode, encode
from bson.errors import BSONError

from cdckit import StateError

Token = dict[str, Any]

_TIMESTAMP = "82"
_ZERO = 0x29
_ONE_BYTE = 0x2B
_EIGHT_BYTES = 0x32
_OUTSIDE = frozenset({"2B022C010029", "2B042C010029"})
"""Version, kind and number of an event outside of transactions, as servers write them."""


def token_time(token: Token) -> tuple[int, int]:
    """Seconds since 1970 and the number within the second.

    Raises:
        StateError: it is no token that this program can read.
    """
    data = token.get("_data")
    if not isinstance(data, str) or not data.startswith(_TIMESTAMP):
        raise StateError(f"the resume token {token} is of an unknown form; take a new snapshot with a new state folder")
    try:
        # Behind the type byte a timestamp is eight bytes, big end first: seconds and number, as key strings sort.
        return int(data[2:10], 16), int(data[10:18], 16)
    except ValueError as error:
        raise StateError(f"the resume token {token} is damaged: {error}") from None


def check_token(token: Token) -> None:
    """Whether all is there that an event's place is read from.

    Raises:
        StateError: it is damaged, or no token that this program can read.
    """
    token_time(token)
    try:
        bytes.fromhex(token["_data"])
        _operation_number(token["_data"])
    except ValueError as error:
        raise StateError(f"the resume token {token} is damaged: {error}") from None


def token_moment(token: Token) -> str:
    """The same as 16 hexadecimal digits, which sort as the times do."""
    moment: str = token["_data"][2:18]
    return moment


def token_place(token: Token) -> tuple[str, int]:
    """The moment of the token's event, as `token_moment` has it, and which operation of its transaction it is.

    Outside of transactions the operation's number is 0.
    """
    data: str = token["_data"]
    return data[2:18], 0 if data[18:30] in _OUTSIDE else _operation_number(data)


def _operation_number(data: str) -> int:
    at = 18
    number = 0
    for _ in ("version", "kind", "operation"):
        number, at = _integer(data, at)
    return number


def is_event(token: Token) -> bool:
    """Whether the token is that of an event, not of a mere moment."""
    _, at = _integer(token["_data"], 18)
    kind, _ = _integer(token["_data"], at)
    return kind != 0


def _integer(data: str, at: int) -> tuple[int, int]:
    """A whole number that is not negative, and where it ends."""
    kind = int(data[at : at + 2] or "0", 16)
    if kind == _ZERO:
        return 0, at + 2
    if not _ONE_BYTE <= kind <= _EIGHT_BYTES:
        raise StateError(f"the resume token {data} cannot be read: no number at {at}")
    # The type tells the width. The lowest bit says whether a decimal follows, so the number is the rest.
    end = at + 2 + 2 * (kind - _ONE_BYTE + 1)
    return int(data[at + 2 : end], 16) >> 1, end


def token_text(token: Token) -> str:
    """A token as Debezium's offsets hold it: its BSON in base64."""
    return b64encode(encode(token)).decode()


def token_of(text: str) -> Token:
    """A token out of an offset: BSON in base64, or, as older Debeziums had it, the hexadecimal text alone.

    Raises:
        ValueError: the text is none that a token can have.
    """
    text.encode()
    try:
        return dict(decode(b64decode(text, validate=True)))
    except (ValueError, BSONError):
        return {"_data": text}
