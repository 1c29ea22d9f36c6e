"""The JSON serializer against what Kafka Connect's JsonConverter writes."""

import base64
import json

import pytest

from cdckit import logical
from cdckit.api.record import Header, Record, SchemaAndValue
from cdckit.api.schema import BYTES, INT32, INT64, OPTIONAL_STRING, STRING, Schema, array_schema, struct_schema
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.errors import TransformError

PRICE = Schema("bytes", optional=True, name=logical.DECIMAL_NAME, version=1, parameters={"scale": "2"})
ROW = struct_schema(
    "shop.Value",
    {
        "id": INT32,
        "name": OPTIONAL_STRING,
        "price": PRICE,
        "state": Schema("string", optional=True, default="new"),
        "blob": BYTES,
        "tags": array_schema(STRING, optional=True),
        "nested": struct_schema("shop.Nested", {"x": INT64}, optional=True),
    },
)


def serializer(**options: object) -> JsonSerializer:
    config, _ = JsonConfig.load({k.replace("_", "."): v for k, v in options.items()}, "serializer")
    return JsonSerializer(config)


def row(**members: object) -> Struct:
    return Struct.of(ROW, {"id": 1, "blob": b"\x00\xff", **members})


def written(value: object, **options: object) -> object:
    messages = serializer(**options).serialize([Record("t", None, value)])  # type: ignore[arg-type]
    assert messages.values[0] is not None
    return json.loads(messages.values[0])


def test_a_struct_can_be_missing_in_an_array() -> None:
    item = struct_schema("shop.Item", {"x": INT64}, optional=True)
    row_schema = struct_schema("shop.Value", {"items": array_schema(item)})
    assert written(Struct(row_schema, ([Struct(item, (7,)), None],)), schemas_enable=False) == {
        "items": [{"x": 7}, None]
    }


def test_struct_without_schema_keeps_the_field_order_and_renders_bytes_as_base64() -> None:
    payload = written(
        row(name="é", price=b"\x04\xd2", tags=["a", "b"], nested=Struct(ROW.field("nested").schema, (7,))),
        schemas_enable=False,
    )
    assert payload == {
        "id": 1,
        "name": "é",
        "price": base64.b64encode(b"\x04\xd2").decode(),
        "state": "new",
        "blob": "AP8=",
        "tags": ["a", "b"],
        "nested": {"x": 7},
    }
    assert list(payload) == [f.name for f in ROW.fields]


def test_null_takes_the_default_unless_told_otherwise() -> None:
    value = row().replace(state=None)
    assert written(value, schemas_enable=False)["state"] == "new"  # type: ignore[index]
    assert written(value, schemas_enable=False, replace_null_with_default=False)["state"] is None  # type: ignore[index]


def test_decimals_as_numbers() -> None:
    value = row(price=(-1234).to_bytes(2, "big", signed=True))
    assert written(value, schemas_enable=False, decimal_format="NUMERIC")["price"] == -12.34  # type: ignore[index]


def test_decimals_keep_all_their_digits() -> None:
    digits = "12345678901234567890123456789012345678.90"
    value = row(price=int(digits.replace(".", "")).to_bytes(17, "big", signed=True))
    messages = serializer(schemas_enable=False, decimal_format="NUMERIC").serialize([Record("t", None, value)])
    assert f'"price":{digits},'.encode() in (messages.values[0] or b"")


def test_schema_has_connects_members_in_connects_order() -> None:
    envelope = written(row())
    assert isinstance(envelope, dict)
    assert list(envelope) == ["schema", "payload"]
    assert list(envelope["schema"]) == ["type", "fields", "optional", "name"]
    price = envelope["schema"]["fields"][2]
    assert list(price) == ["type", "optional", "name", "version", "parameters", "field"]
    assert envelope["schema"]["fields"][3]["default"] == "new"
    assert envelope["schema"]["fields"][5]["items"] == {"type": "string", "optional": False}


def test_tombstones_and_missing_keys_stay_none() -> None:
    messages = serializer().serialize([Record("t", None, None)])
    assert messages.keys == [None]
    assert messages.values == [None]


def test_a_value_without_schema_is_written_as_it_is() -> None:
    assert written(SchemaAndValue(None, {"a": [1]}), schemas_enable=False) == {"a": [1]}
    assert written(SchemaAndValue(None, 5)) == {"schema": None, "payload": 5}


@pytest.mark.parametrize("schemas", [True, False])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_template_struct_is_written_like_any_struct_wherever_its_holes_are(at: int, schemas: bool) -> None:
    source = struct_schema("s", {"a": INT32, "b": INT32, "c": OPTIONAL_STRING})
    outer = struct_schema(
        "o", {"before": ROW.as_optional(), "source": source, "after": ROW.as_optional(), "op": STRING}
    )
    shared = (None, Struct(source, (10, 20, "x" if at < 2 else None)), None, "u")
    template = Template(outer, shared, ((0,), (1, min(at, 1)), (2,)))
    for number, before in ((5, None), (6, row(name="b"))):
        struct = TemplateStruct(template, (before, number, row(name="a")))
        plain = Struct(outer, struct.values)
        assert struct == plain
        assert struct["source"].values[min(at, 1)] == number
        made = written(struct, schemas_enable=schemas)
        assert json.dumps(made) == json.dumps(written(plain, schemas_enable=schemas))


def test_keys_of_integers_are_written_like_any_struct() -> None:
    schema = struct_schema('k "%', {'a%d"': INT32, "b": INT64})
    key = Struct(schema, (-1, 2**63 - 1))
    for schemas in (True, False):
        messages = serializer(schemas_enable=schemas).serialize([Record("t", key, None)])
        made = json.loads(messages.keys[0] or b"")
        assert (made["payload"] if schemas else made) == {'a%d"': -1, "b": 2**63 - 1}


def test_headers_are_json_or_simple() -> None:
    record = Record("t", None, None, (Header("a", "x"), Header("b", {"k": 1}, None)))
    with_schema = serializer().serialize([record]).headers[0]
    assert json.loads(with_schema[0][1] or b"") == {
        "schema": {"type": "string", "optional": False},
        "payload": "x",
    }
    simple = serializer(header_format="simple").serialize([record]).headers[0]
    assert simple == (("a", b"x"), ("b", b'{"k":1}'))


def test_a_header_of_null_without_a_schema_is_null() -> None:
    record = Record("t", None, None, (Header("a", None, None), Header("b", None)))
    for name in ("json", "simple"):
        (_, plain), (_, with_schema) = serializer(header_format=name).serialize([record]).headers[0]
        assert plain is None
        assert (with_schema is None) == (name == "simple")


def test_what_stands_around_a_position_makes_it_a_header_like_others() -> None:
    for options in ({}, {"schemas_enable": False}, {"header_format": "simple"}):
        made = serializer(**options)
        [[(_, written_as)]] = made.serialize([Record("t", None, None, (Header("h", "0012-3"),))]).headers
        before, behind = made.around_position
        assert f"{before}0012-3{behind}".encode() == written_as


def test_a_value_that_does_not_fit_names_topic_and_position() -> None:
    bad = Record("shop.orders", None, Struct(ROW, (1, "n", "no bytes", "s", b"", None, None)), position="p-7")
    good = Record("shop.orders", None, row())
    with pytest.raises(TransformError, match=r"topic shop\.orders, position p-7: the value"):
        serializer().serialize([good, bad])


def test_numbers_that_json_lacks_are_javas_texts() -> None:
    schema = struct_schema("s", {"v": Schema("float64", optional=True)})
    plain = JsonConfig.load({"schemas.enable": False}, "serializer")[0]
    for value, text in ((float("nan"), '"NaN"'), (float("-inf"), '"-Infinity"'), (1.5, "1.5"), (None, "null")):
        record = Record("t", None, Struct(schema, (value,)))
        assert JsonSerializer(plain).serialize([record]).values == [b'{"v":%b}' % text.encode()]
