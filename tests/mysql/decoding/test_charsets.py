"""Text and labels in every character set of the servers."""

from __future__ import annotations

from mysql.decoding.reading import Reading

CHARSETS = {
    "utf8mb3": "é日",
    "utf16": "é日😀",
    "utf16le": "é日😀",
    "utf32": "é日😀",
    "ucs2": "é日",
    "latin1": "é€\x81",
    "latin2": "ł",
    "latin5": "ğ",
    "latin7": "š",
    "ascii": "abc",
    "swe7": "Åä",
    "hp8": "é",
    "cp1250": "ł",
    "cp1251": "Жж",
    "cp1256": "ع",
    "cp1257": "š",
    "cp850": "é",
    "cp852": "ł",
    "cp866": "Жⁿ",
    "koi8r": "Ж",
    "koi8u": "Їж•",
    "greek": "Ωά",
    "hebrew": "אב",
    "armscii8": "Աա",
    "geostd8": "ა",
    "tis620": "กข",
    "keybcs2": "Čď",
    "macroman": "é",
    "macce": "ł",
    "dec8": "éŒ",
    "euckr": "한글",
    "big5": "漢字",
    "gbk": "汉字",
    "gb2312": "汉字",
    "sjis": "日本",
    "cp932": "日本①",
    "ujis": "日本ｱ",
    "eucjpms": "日本\uff5e①ｱ",
}


def test_text_and_labels_in_every_character_set(reading: Reading) -> None:
    """Labels come from SHOW CREATE TABLE, which has no characters beyond the Basic Multilingual Plane."""
    labels = {name: text.replace("😀", "") for name, text in CHARSETS.items()}
    columns = ", ".join(
        f"v_{name} VARCHAR(20) CHARACTER SET {name}, t_{name} TEXT CHARACTER SET {name},"
        f" e_{name} ENUM('x', '{labels[name]}') CHARACTER SET {name}"
        for name, text in CHARSETS.items()
    )
    reading.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
    values = ", ".join(f"'{text}', '{text}{text}', '{labels[name]}'" for name, text in CHARSETS.items())
    [row] = reading.inserted(f"INSERT INTO t VALUES (1, {values})")
    expected = {
        f"{kind}_{name}": shown
        for name, text in CHARSETS.items()
        for kind, shown in (("v", text), ("t", text + text), ("e", labels[name]))
    }
    assert {name: value for name, value in row.items() if name != "id"} == expected
    assert reading.selected(reading.tables()["t"]) == [row]
