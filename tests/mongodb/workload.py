"""What the recordings in `tests/data/debezium/mongo60-*` were made with: databases `g_m` and `g_m2`.

Deterministic: the same documents, identifiers and order of operations each time.
"""

from __future__ import annotations

import datetime
import uuid
from typing import Any

from bson import Binary, Code, DBRef, Decimal128, Int64, MaxKey, MinKey, ObjectId, Regex, Timestamp
from pymongo import DeleteOne, InsertOne, MongoClient, UpdateOne

UTC = datetime.UTC
Document = dict[str, Any]
Client = MongoClient[Document]

_WITH_IMAGES = ("types", "dml", "tx", "drop_me", "sig", "big", "outbox")


def set_up(client: Client) -> None:
    """What stands before the connector starts."""
    client.drop_database("g_m")
    client.drop_database("g_m2")
    db = client.g_m
    for name in _WITH_IMAGES:
        db.create_collection(name, changeStreamPreAndPostImages={"enabled": True})
    for document in typed(0):
        db.types.insert_one(document)
    db.dml.insert_many(
        {
            "_id": number,
            "name": f"n{number}",
            "arr": list(range(10)),
            "sub": {"a": 1, "b": 2},
            "docs": [{"k": k} for k in range(4)],
        }
        for number in range(1, 6)
    )
    db.tx.insert_one({"_id": 0, "v": 0})
    db.drop_me.insert_one({"_id": 1})
    db.big.insert_many({"_id": number, "v": number * 10} for number in range(1, 8))
    client.g_m2.other.insert_one({"_id": 1, "x": "other db"})


def change(client: Client) -> None:
    """What is done while the connector is down."""
    _change_types(client)
    _change_dml(client)
    _transactions(client)
    _collections(client)
    _signal(client)


def typed(base: int) -> list[Document]:
    """Documents with values and identifiers of every BSON type that can be stored."""

    def oid(number: int) -> ObjectId:
        return ObjectId(f"{base + number:024x}")

    return [
        {
            "_id": oid(1),
            "kind": "scalars",
            "double": 1.5,
            "double_int": 3.0,
            "nan": float("nan"),
            "inf": float("inf"),
            "ninf": float("-inf"),
            "negzero": -0.0,
            "big": 1e300,
            "small": 5e-324,
            "str": 'é😀 "q" \\ \n\t\u0000\u0001\u007f/<>',
            "empty": "",
            "int32": 42,
            "int32_min": -2147483648,
            "int32_max": 2147483647,
            "int64": Int64(42),
            "int64_min": Int64(-(2**63)),
            "int64_max": Int64(2**63 - 1),
            "true": True,
            "false": False,
            "null": None,
        },
        {
            "_id": oid(2),
            "kind": "special",
            "oid": ObjectId("5f1a2b3c4d5e6f7081920a1b"),
            "date": datetime.datetime(2020, 1, 2, 3, 4, 5, 678000, UTC),
            "date_old": datetime.datetime(1, 1, 1, tzinfo=UTC),
            "date_neg": datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, UTC),
            "date_max": datetime.datetime(9999, 12, 31, 23, 59, 59, 999000, UTC),
            "ts": Timestamp(1600000000, 7),
            "ts0": Timestamp(1, 0),
            "bin0": b"\x00\x01\x02\xff",
            "bin_empty": b"",
            "bin_old": Binary(b"abc", 2),
            "bin_md5": Binary(b"0123456789abcdef", 5),
            "bin_user": Binary(b"xyz", 128),
            "uuid": Binary.from_uuid(uuid.UUID("00112233-4455-6677-8899-aabbccddeeff")),
            "uuid_legacy": Binary(bytes(range(16)), 3),
            "regex": Regex("^a.*b/c$", "imx"),
            "regex0": Regex("x"),
            "code": Code("function() { return 1; }"),
            "code_scope": Code("return x", {"x": 1, "y": "z"}),
            "min": MinKey(),
            "max": MaxKey(),
            "dbref": DBRef("other", ObjectId("5f1a2b3c4d5e6f7081920a1b"), "dbn"),
            "dec": Decimal128("1.10"),
            "dec_big": Decimal128("-9.999999999999999999999999999999999E+6144"),
            "dec_nan": Decimal128("NaN"),
            "dec_inf": Decimal128("-Infinity"),
            "dec_z": Decimal128("0E-10"),
            "symbolish": "sym",
        },
        {
            "_id": oid(3),
            "kind": "nested",
            "arr": [1, "two", 3.0, None, True, [1, [2]], {"k": "v"}],
            "empty_arr": [],
            "empty_doc": {},
            "hom": [1, 2, 3],
            "docs": [{"a": 1}, {"b": "x"}, {"a": 2, "b": "y"}],
            "deep": {"a": {"b": {"c": {"d": [{"e": 1}]}}}},
            "dotted": {"x": {"y": 1}},
            "$dollar": 1,
            "a-b c": "odd name",
            "ключ": "unicode name",
        },
        {"_id": base + 4, "kind": "id int32"},
        {"_id": Int64(2**40 + base), "kind": "id int64"},
        {"_id": f'str"id\\ {base} é', "kind": "id string"},
        {"_id": {"a": base, "b": "x"}, "kind": "id doc"},
        {"_id": 1.5 + base, "kind": "id double"},
        {"_id": Decimal128(f"1.{base}"), "kind": "id decimal"},
        {"_id": Binary.from_uuid(uuid.UUID(int=base)), "kind": "id uuid"},
        {"_id": datetime.datetime(2020, 1, 1, 0, 0, base % 60, tzinfo=UTC), "kind": "id date"},
        {"_id": base == 0, "kind": "id bool"},
        {"_id": Timestamp(1600000000 + base, 1), "kind": "id ts"},
        {"_id": b"bin%d" % base, "kind": "id bin"},
    ]


def _change_types(client: Client) -> None:
    types = client.g_m.types
    for document in typed(100):
        types.insert_one(document)
    for document in typed(100)[:4]:
        types.update_one({"_id": document["_id"]}, {"$set": {"upd": 1}})
    types.delete_one({"_id": ObjectId(f"{101:024x}")})
    types.delete_one({"_id": {"a": 100, "b": "x"}})


def _change_dml(client: Client) -> None:
    dml = client.g_m.dml
    ten = {"_id": 10}
    dml.insert_one(
        {
            "_id": 10,
            "name": "ten",
            "arr": [1, 2, 3, 4, 5],
            "sub": {"a": 1, "b": {"c": 2}},
            "docs": [{"k": 1}, {"k": 2}],
            "v": None,
        }
    )
    dml.update_one(ten, {"$set": {"name": "TEN"}})
    dml.update_one(ten, {"$set": {"sub.b.c": 3, "sub.n": "new"}, "$unset": {"v": ""}})
    dml.update_one(ten, {"$unset": {"sub.a": ""}, "$inc": {"cnt": 1}})
    dml.update_one(ten, {"$push": {"arr": 6}})
    dml.update_one(ten, {"$set": {"arr.0": "first", "docs.1.k": "two"}})
    dml.update_one(ten, {"$pop": {"arr": 1}})
    dml.update_one(ten, [{"$set": {"arr": {"$slice": ["$arr", 2]}}}])
    dml.update_one({"_id": 1}, [{"$set": {"arr": {"$slice": ["$arr", 5]}, "docs": {"$slice": ["$docs", 1]}, "z": 1}}])
    dml.update_one(ten, {"$rename": {"name": "title"}})
    dml.update_one(ten, {"$set": {"a.b": 1}})
    dml.update_one(ten, [{"$replaceWith": {"$setField": {"field": "x.y", "input": "$$ROOT", "value": 5}}}])
    dml.replace_one(ten, {"name": "replaced", "n": 1})
    dml.update_many({"_id": {"$in": [2, 3]}}, {"$set": {"many": True}})
    dml.update_one({"_id": 2}, {"$set": {"many": True}})
    dml.update_one({"_id": 77}, {"$set": {"ups": 1}}, upsert=True)
    dml.find_one_and_update({"_id": 4}, {"$set": {"fam": 1}})
    dml.find_one_and_delete({"_id": 4})
    dml.bulk_write([InsertOne({"_id": 20}), UpdateOne({"_id": 20}, {"$set": {"b": 1}}), DeleteOne({"_id": 20})])
    dml.insert_one({"_id": 30, "s": 1})
    dml.update_one({"_id": 30}, {"$set": {"s": 2}})
    dml.update_one({"_id": 30}, {"$set": {"s": 3}})
    dml.delete_one({"_id": 30})
    dml.delete_many({"_id": {"$in": [2, 3]}})


def _transactions(client: Client) -> None:
    tx, dml = client.g_m.tx, client.g_m.dml
    with client.start_session() as session:
        with session.start_transaction():
            tx.insert_one({"_id": 1, "v": 1}, session=session)
            tx.update_one({"_id": 0}, {"$set": {"v": 1}}, session=session)
            dml.insert_one({"_id": 40, "tx": 1}, session=session)
            dml.update_one({"_id": 40}, {"$set": {"tx": 2}}, session=session)
            tx.delete_one({"_id": 1}, session=session)
        with session.start_transaction():
            tx.insert_one({"_id": 2, "v": 2}, session=session)
            session.abort_transaction()
        with session.start_transaction():
            tx.insert_one({"_id": 3, "v": 3}, session=session)


def _collections(client: Client) -> None:
    db = client.g_m
    db.drop_me.insert_one({"_id": 2})
    db.drop_me.drop()
    db.newcoll.insert_one({"_id": 1, "no_pre_images": True})
    db.newcoll.update_one({"_id": 1}, {"$set": {"x": 1}})
    db.newcoll.delete_one({"_id": 1})
    db.newcoll.rename("renamed")
    db.renamed.insert_one({"_id": 2})
    client.g_m2.other.insert_one({"_id": 2, "x": "o2"})
    client.drop_database("g_m2")


def _signal(client: Client) -> None:
    db = client.g_m
    db.outbox.insert_one(
        {
            "_id": ObjectId(f"{900:024x}"),
            "aggregateid": ObjectId(f"{901:024x}"),
            "aggregatetype": "Order",
            "type": "OrderCreated",
            "payload": {"id": 1, "d": Decimal128("1.5"), "l": Int64(5)},
        }
    )
    payload = {"data-collections": ["g_m.big"], "type": "incremental"}
    db.sig.insert_one({"_id": "sig-1", "type": "execute-snapshot", "payload": payload})
    db.big.update_one({"_id": 3}, {"$set": {"v": "upd"}})
    db.big.insert_one({"_id": 8, "v": 80})
