"""Passwords in definitions: told by no record, error, history or status."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from cdckit_mysql.ddl import DdlReader, Flavor
from cdckit_mysql.ddl.statement_text import MASK, without_passwords
from cdckit_mysql.table import Tables

TABLE = "CREATE TABLE f (id INT) ENGINE=FEDERATED"


@pytest.mark.parametrize(
    "clause",
    [
        "CONNECTION='mysql://me:hush@host:3306/db/f'",
        'connection = "mysql://me:hush@host/db/f"',
        "CONNECTION 'mysql://me:it''s hush@x\\'y@host/db/f' COMMENT 'c'",
        "COMMENT='CONNECTION' CONNECTION='mysql://me:hush@host/db/f'",
    ],
)
def test_a_connections_password_is_masked(clause: str) -> None:
    found = without_passwords(f"{TABLE} {clause}")
    assert "hush" not in found
    assert f"://me:{MASK}@host" in found
    changes = DdlReader(Flavor.MYSQL).apply(Tables(), "d", f"{TABLE} {clause}")
    assert "hush" not in changes[0].ddl


def test_a_comment_of_two_dashes_hides_its_own_line_alone() -> None:
    assert "hush" not in without_passwords(f"--\n{TABLE} CONNECTION='mysql://me:hush@host/db/f'")


@pytest.mark.parametrize("clause", ["CONNECTION='server/f'", "CONNECTION='mysql://me@host/db/f'", "COMMENT='a:b@c'"])
def test_others_stay_as_they_are(clause: str) -> None:
    assert without_passwords(f"{TABLE} {clause}") == f"{TABLE} {clause}"


@given(st.text(alphabet="'\"\\\\@:/ =a", max_size=60))
def test_a_password_of_any_characters_is_masked(text: str) -> None:
    """Written as a string literal, whatever it holds."""
    literal = f"hush{text}hush".replace("\\", "\\\\").replace("'", "\\'")
    assert "hush" not in without_passwords(f"{TABLE} CONNECTION='mysql://me:{literal}@host/db/f'")
