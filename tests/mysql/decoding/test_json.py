"""JSON documents: MySQL's binary form as text."""

from __future__ import annotations

from mysql.decoding.reading import Reading


def test_json_as_the_log_holds_it(mysql_reading: Reading) -> None:
    documents = [
        "{}", "[]", "null", "true", "0", "-1", "1.5", '""', '"\\\\u0001\\\\u001f\\\\n\\\\t\\\\"\\\\\\\\/é😀"',
        "[0.001, 0.0001, 9999999.0, 1e7, 1e22, -0.0, 123456.789, 1e-7]",
        "[32767, 32768, -32768, -32769, 65535, 65536, 2147483647, 2147483648, 4294967296, 9223372036854775807]",
        '{"b": 1, "a": {"c": [[], {}, [1, {"d": null}]]}, "": "empty key", "é": 2}',
    ]  # fmt: skip
    mysql_reading.execute("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, j JSON)")
    rows = mysql_reading.inserted(*(f"INSERT INTO t (j) VALUES ('{document}')" for document in documents))
    assert [row["j"] for row in rows] == [
        "{}", "[]", "null", "true", "0", "-1", "1.5", '""', '"\\u0001\\u001F\\n\\t\\"\\\\/é😀"',
        "[0.001,0.000100000000000000004792173602385929598312941379845142364501953125,9999999.0,10000000,"
        "10000000000000000000000,-0.0,123456.789,"
        "0.0000000999999999999999954748111825886258685613938723690807819366455078125]",
        "[32767,32768,-32768,-32769,65535,65536,2147483647,2147483648,4294967296,9223372036854775807]",
        '{"":"empty key","a":{"c":[[],{},[1,{"d":null}]]},"b":1,"é":2}',
    ]  # fmt: skip


def test_json_of_the_servers_own_types(mysql_reading: Reading) -> None:
    mysql_reading.execute("CREATE TABLE t (j JSON)")
    [row] = mysql_reading.inserted(
        "INSERT INTO t VALUES (JSON_ARRAY(CAST('2015-01-15' AS DATE),"
        " CAST('2015-01-15 23:24:25.120000' AS DATETIME(6)), CAST('23:24:25' AS TIME),"
        " CAST('-838:59:58.5' AS TIME(6)), CAST(-123.4500 AS DECIMAL(30,4)),"
        " CAST(X'00FF10' AS BINARY), b'101', TIMESTAMP '2020-02-29 00:00:00'))"
    )
    assert row["j"] == (
        '["2015-01-15","2015-01-15 23:24:25.12","23:24:25","-838:59:58.5",-123.4500,"AP8Q","BQ==",'
        '"2020-02-29 00:00:00"]'
    )


def test_large_json_documents(mysql_reading: Reading) -> None:
    mysql_reading.execute("CREATE TABLE t (j JSON)")
    members = ", ".join(f"'key{number:05}', {number}" for number in range(9000))
    [row] = mysql_reading.inserted(f"INSERT INTO t VALUES (JSON_OBJECT({members}, 'long', REPEAT('x', 70000)))")
    text = row["j"]
    assert text.startswith('{"long":"' + "x" * 70_000 + '","key00000":0,')
    assert text.endswith('"key08999":8999}')
