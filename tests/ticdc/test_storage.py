"""What TiCDC's storage sink writes: CSV and canal-json beside schema files, from a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.source import SourceContext
from cdckit.errors import ConfigError, DecodeError
from cdckit_ticdc.config import TicdcConfig
from cdckit_ticdc.source import TicdcSource
from ticdc.recordings import envelope_of, lines
from ticdc.topics import pipeline_once

EMPLOYEE = [
    {"ColumnName": "Id", "ColumnType": "INT", "ColumnNullable": "false", "ColumnIsPk": "true"},
    {"ColumnName": "LastName", "ColumnType": "CHAR", "ColumnLength": "20"},
    {"ColumnName": "Pay", "ColumnType": "DECIMAL", "ColumnPrecision": "10", "ColumnScale": "2"},
    {"ColumnName": "HireDate", "ColumnType": "DATETIME"},
    {"ColumnName": "Photo", "ColumnType": "BLOB", "ColumnLength": "20"},
    {"ColumnName": "Kind", "ColumnType": "ENUM"},
]
"""The columns of the manual's example table, and a few more."""


class Storage:
    """A folder that a changefeed writes to, and a pipeline that reads it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = folder / "bucket"

    def schema(self, version: int, columns: list[dict[str, str]], table: str = "employee") -> None:
        content = {"Schema": "hr", "Table": table, "Version": 1, "TableVersion": version, "TableColumns": columns}
        self.write(f"hr/{table}/meta/schema_{version}_0123456789.json", json.dumps(content))

    def write(self, path: str, content: str) -> None:
        file = self.url / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, newline="")

    def once(self, **source: Any) -> list[dict[str, Any]]:
        return pipeline_once(self.folder, {"type": "ticdc", "storage.url": str(self.url), **source})


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(tmp_path)


def test_csv_with_its_schema_files(storage: Storage) -> None:
    """Types out of the schema file, NULL, quotes, an update as delete and insert, lines inside values."""
    storage.schema(441349361156227073, EMPLOYEE)
    storage.write(
        "hr/employee/441349361156227073/2024-05-09/CDC000001.csv",
        '"I","employee","hr",441349361156227074,101,"Smith","10.50","2014-06-04 00:00:00","3q0=","a"\r\n'
        '"I","employee","hr",441349361156227075,102,"O""Brien\r\nJr",\\N,\\N,\\N,\\N\r\n'
        '"D","employee","hr",441349361156227076,101,"Smith","10.50","2014-06-04 00:00:00","3q0=","a"\r\n'
        '"I","employee","hr",441349361156227076,101,"Smith","11.00","2014-06-04 00:00:00","3q0=","b"\r\n',
    )
    found = storage.once(protocol="csv")
    smith = {"Id": 101, "LastName": "Smith", "Pay": "BBo=", "HireDate": 1401840000000, "Photo": "3q0=", "Kind": "a"}
    brien = {"Id": 102, "LastName": 'O"Brien\r\nJr', "Pay": None, "HireDate": None, "Photo": None, "Kind": None}
    rows = [(line["value"]["op"], line["value"]["before"], line["value"]["after"]) for line in found]
    assert rows == [
        ("c", None, smith), ("c", None, brien), ("d", smith, None),
        ("c", None, {**smith, "Pay": "BEw=", "Kind": "b"}),
    ]  # fmt: skip
    assert [line["value"]["source"]["commit_ts"] for line in found][:2] == [441349361156227074, 441349361156227075]
    assert found[0]["topic"] == "default.hr.employee"
    assert found[0]["key"] == {"Id": 101}


def test_versions_and_files_come_in_order(storage: Storage) -> None:
    """A table's versions, then days, then files; new files are found by the next run, old ones are not read again."""
    storage.schema(9, EMPLOYEE[:2])
    storage.schema(10, EMPLOYEE[:1])
    storage.write("hr/employee/10/CDC000001.csv", '"I","employee","hr",4\r\n')
    storage.write("hr/employee/9/CDC000010.csv", '"I","employee","hr",3,"x"\r\n')
    storage.write("hr/employee/9/CDC000002.csv", '"I","employee","hr",1,"x"\r\n"I","employee","hr",2,"x"\r\n')
    assert [line["value"]["after"]["Id"] for line in storage.once(protocol="csv")] == [1, 2, 3, 4]
    storage.write("hr/employee/10/CDC000002.csv", '"D","employee","hr",4\r\n')
    assert [line["value"]["op"] for line in storage.once(protocol="csv")] == ["d"]
    assert storage.once(protocol="csv") == []


def test_canal_json(storage: Storage) -> None:
    """The recorded messages, as lines of a file."""
    recorded = [line for line in lines("canal-json-tidbext", "txn_two_tables") if line.kind == "row"]
    content = "".join(f"{(line.message.value or b'').decode()}\r\n" for line in recorded)
    storage.write("shop/orders/447507027002130437/CDC000001.json", content)
    found = storage.once(protocol="canal-json")
    assert [line["value"]["op"] for line in found] == [(line.expect or {})["op"] for line in recorded]


def test_a_missing_schema_file_is_named(storage: Storage) -> None:
    storage.write("hr/employee/5/CDC000001.csv", '"I","employee","hr",1\r\n')
    with pytest.raises(DecodeError, match=r"hr/employee/5/CDC000001.csv, byte 0: .* no schema file of version 5"):
        storage.once(protocol="csv")


def test_a_line_with_other_columns_is_named(storage: Storage) -> None:
    storage.schema(5, EMPLOYEE[:2])
    storage.write("hr/employee/5/CDC000001.csv", '"I","employee","hr",1\r\n')
    with pytest.raises(DecodeError, match="a line of 4 values, where version 5 has 2 columns"):
        storage.once(protocol="csv")


def test_the_protocol_must_be_one_that_is_stored(storage: Storage) -> None:
    with pytest.raises(ConfigError, match=r"'storage\.url' needs 'protocol: canal-json' or 'protocol: csv'"):
        storage.once(protocol="debezium")


def test_days_come_in_order_where_lines_have_no_time(storage: Storage) -> None:
    """Without `include-commit-ts` positions follow the folders' days, in which the files' numbers begin anew."""
    storage.schema(5, EMPLOYEE[:1])
    storage.write("hr/employee/5/2024-05-09/CDC000002.csv", '"I","employee","hr",1\r\n')
    storage.write("hr/employee/5/2024-05-10/CDC000001.csv", '"D","employee","hr",1\r\n')
    config, _ = TicdcConfig.load({"protocol": "csv", "storage.url": str(storage.url)}, "source")
    source = TicdcSource(config)
    source.open(SourceContext("days"))
    splits = source.plan({}, source.latest_offset({}), parallelism=2)
    records = [record for split in splits for batch in source.read(split) for record in batch.records]
    assert len(splits) == 2
    assert [envelope_of(one)["op"] for one in sorted(records, key=lambda record: record.position)] == ["c", "d"]
