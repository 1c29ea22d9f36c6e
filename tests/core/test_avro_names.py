"""Names that Avro allows. What is expected here is what Debezium's SchemaNameAdjuster answers."""

from __future__ import annotations

import pytest

from cdckit.connector.avro_names import NameAdjustment, field_names, schema_names


@pytest.mark.parametrize(
    ("mode", "name", "schema_name", "field_name"),
    [
        ("none", "9-ä/😀", "9-ä/😀", "9-ä/😀"),
        ("avro", "inventory.shop.orders", "inventory.shop.orders", "inventory_shop_orders"),
        ("avro", "9-dml.t", "_9_dml.t", "_9_dml_t"),
        ("avro", ".a_b", "_a_b", "_a_b"),
        ("avro", "ä😀", "___", "___"),
        ("avro", "", "", ""),
        ("avro_unicode", "9-dml.t", "_u0039_u002ddml.t", "_u0039_u002ddml_u002et"),
        ("avro_unicode", "a_b", "a_u005fb", "a_u005fb"),
        ("avro_unicode", "ā→\t", "_u101_u2192_u009", "_u101_u2192_u009"),
        ("avro_unicode", "x😀", "x_ud83d_ude00", "x_ud83d_ude00"),
    ],
)
def test_names_are_adjusted_as_debezium_does(
    mode: NameAdjustment, name: str, schema_name: str, field_name: str
) -> None:
    assert schema_names(mode)(name) == schema_name
    assert field_names(mode)(name) == field_name
