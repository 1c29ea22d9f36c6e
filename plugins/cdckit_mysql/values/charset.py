"""Character sets of MySQL and MariaDB: how their bytes become text.

Where Python's codec of the same name differs from the server's own conversion, the server's is right: the tables here
were compared with `CONVERT(… USING utf8mb4)` byte by byte. Reference manual, "Supported Character Sets and Collations".
"""

from __future__ import annotations

from codecs import charmap_decode
from collections.abc import Callable
from functools import cache

PYTHON_CODECS = {
    "ascii": "ascii",
    "big5": "big5hkscs",
    "binary": "latin-1",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp932": "cp932",
    "euckr": "cp949",
    "gb18030": "gb18030",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "hp8": "hp-roman8",
    "koi8r": "koi8-r",
    "latin2": "iso8859-2",
    "latin5": "iso8859-9",
    "latin7": "iso8859-13",
    "macce": "mac-latin2",
    "macroman": "mac-roman",
    "sjis": "shift_jis",
    "tis620": "tis-620",
    "ucs2": "utf-16-be",
    "ujis": "euc_jp",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
    "utf8": "utf-8",
    "utf8mb3": "utf-8",
    "utf8mb4": "utf-8",
}
"""Character sets for which a codec of Python's does."""

_ARMSCII8_SIGNS = "\xa0\u2741\u00a7\u0589)(\u00bb\u00ab\u2014.\u055d,-\u055f\u2026\u055c\u055b\u055e"
_ARMSCII8_LETTERS = "".join(chr(code) + chr(code + 0x30) for code in range(0x531, 0x557))
_ARMSCII8 = _ARMSCII8_SIGNS + _ARMSCII8_LETTERS + "\u2019'"
_GEOSTD8 = "აბგდევზჱთიკლმნჲოპჟრსტჳუფქღყშჩცძწჭხჴჯჰჵ"
_KEYBCS2 = "ČüéďäĎŤčěĚĹÍľĺÄÁÉžŽôöÓůÚýÖÜŠĽÝŘťáíóúňŇŮÔšřŕŔ¼¡«»"
_SWE7 = {0x40: "É", 0x5B: "Ä", 0x5C: "Ö", 0x5D: "Å", 0x5E: "Ü", 0x60: "é", 0x7B: "ä", 0x7C: "ö", 0x7D: "å", 0x7E: "ü"}

_SINGLE_BYTE: dict[str, tuple[str, dict[int, str]]] = {
    "armscii8": ("latin-1", dict(enumerate(_ARMSCII8, 0xA0))),
    "cp866": ("cp866", {0xFC: "ⁿ", 0xFD: "²"}),
    "dec8": ("latin-1", {0xA8: "¤", 0xD7: "Œ", 0xDD: "Ÿ", 0xF7: "œ", 0xFD: "ÿ"}),
    "geostd8": ("cp1252", {**dict(enumerate(_GEOSTD8, 0xC0)), 0xFD: "№"}),
    "greek": ("iso8859-7", {0xA1: "\u02bd", 0xA2: "\u02bc"}),
    "hebrew": ("iso8859-8", {0xAF: "‾"}),
    "keybcs2": ("cp437", dict(enumerate(_KEYBCS2, 0x80))),
    "koi8u": ("koi8-u", {0x95: "•"}),
    "latin1": ("cp1252", {byte: chr(byte) for byte in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}),
    "swe7": ("ascii", _SWE7),
}
"""Character sets of one byte a character that differ from a codec of Python's: that codec, and what differs."""

_COLLATION_IDS: dict[str, str] = {
    "big5": "1 84", "latin2": "2 9 21 27 77", "dec8": "3 69", "cp850": "4 80", "latin1": "5 8 15 31 47-49 94",
    "hp8": "6 72", "koi8r": "7 74", "swe7": "10 82", "ascii": "11 65", "ujis": "12 91", "sjis": "13 88",
    "cp1251": "14 23 50-52", "hebrew": "16 71", "tis620": "18 89", "euckr": "19 85", "latin7": "20 41-42 79",
    "koi8u": "22 75", "gb2312": "24 86", "greek": "25 70", "cp1250": "26 34 44 66 99", "gbk": "28 87",
    "cp1257": "29 58-59", "latin5": "30 78", "armscii8": "32 64", "utf8mb3": "33 76 83 192-223 576-607",
    "ucs2": "35 90 128-159 640-671", "cp866": "36 68", "keybcs2": "37 73", "macce": "38 43", "macroman": "39 53",
    "cp852": "40 81", "utf8mb4": "45-46 224-247 255-323 608-639", "utf16": "54-55 101-127 672-703",
    "utf16le": "56 62", "cp1256": "57 67", "utf32": "60-61 160-191 736-767", "binary": "63", "geostd8": "92-93",
    "cp932": "95-96", "eucjpms": "97-98", "gb18030": "248-250",
}  # fmt: skip
_UCA1400_CHARSETS = ("utf8mb3", "utf8mb4", "ucs2", "utf16", "utf32")
_NOPAD_FLAG = 1024
_UCA1400_START = 2048


@cache
def _charsets_by_collation() -> dict[int, str]:
    found: dict[int, str] = {}
    for charset, text in _COLLATION_IDS.items():
        for part in text.split():
            first, _, last = part.partition("-")
            found.update(dict.fromkeys(range(int(first), int(last or first) + 1), charset))
    return found


@cache
def charset_of_collation(collation_id: int) -> str:
    """The character set of a collation's number; `utf8mb4` for a number that is not known.

    MariaDB adds 1024 for its NO PAD variants and keeps its UCA 14 collations from 2048 on, 256 a character set.
    """
    if collation_id >= _UCA1400_START:
        block = (collation_id - _UCA1400_START) >> 8
        return _UCA1400_CHARSETS[block] if block < len(_UCA1400_CHARSETS) else "utf8mb4"
    return _charsets_by_collation().get(collation_id & (_NOPAD_FLAG - 1), "utf8mb4")


@cache
def decoding_table(charset: str) -> str | None:
    """The 256 characters of a character set of `_SINGLE_BYTE`, None for all others."""
    if charset not in _SINGLE_BYTE:
        return None
    codec, different = _SINGLE_BYTE[charset]
    return "".join(different.get(byte) or bytes([byte]).decode(codec, "replace") for byte in range(256))


@cache
def text_decoder(charset: str | None) -> Callable[[bytes], str]:
    """The function from a character set's bytes to text; bytes that are no character become U+FFFD.

    A character set that is not known, or None, is read as UTF-8.
    """
    name = (charset or "utf8mb4").lower()
    if name == "eucjpms":
        return decode_eucjpms
    table = decoding_table(name)
    if table is not None:
        return lambda data: charmap_decode(data, "replace", table)[0]
    codec = PYTHON_CODECS.get(name, "utf-8")
    return lambda data: data.decode(codec, "replace")


def decode_eucjpms(data: bytes) -> str:
    """EUC-JP with Microsoft's characters: JIS X 0208 as cp932 has it, JIS X 0212 behind 0x8F."""
    text: list[str] = []
    at = 0
    while at < len(data):
        lead = data[at]
        size = 1 if lead < 0x80 else 3 if lead == 0x8F else 2
        text.append(_eucjpms_character(data[at : at + size]))
        at += size
    return "".join(text)


def _eucjpms_character(code: bytes) -> str:
    if len(code) == 1 or code[0] == 0x8F:
        return code.decode("euc_jp", "replace")
    if code[0] == 0x8E:
        return code[1:].decode("cp932", "replace")
    row, cell = code[0] - 0xA1, code[1] - 0xA1
    if not (0 <= row < 94 and 0 <= cell < 94):
        return "\ufffd"
    lead = row // 2 + (0x81 if row < 62 else 0xC1)
    trail = cell + 0x9F if row % 2 else cell + 0x40 + (cell >= 63)
    return bytes([lead, trail]).decode("cp932", "replace")
