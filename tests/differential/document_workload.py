"""Random changes of documents in several collections, by every operator of updates: the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from bson.errors import BSONError
from pymongo import DeleteOne, InsertOne, ReplaceOne, UpdateMany, UpdateOne
from pymongo.client_session import ClientSession
from pymongo.database import Database
from pymongo.errors import PyMongoError

from differential.debezium import END_MARK
from differential.documents import FIELDS, KEYS, Document, Make, fields, key, scalar, value

_COLLECTIONS = ("c1", "c2", "c3", "with space")
_PATHS = (*FIELDS, "sub.a", "sub.deep.b", "sub.new.er", "docs.0.v", "docs.1.k", "list.1", "list.8", "a.b")
_NUMBERS = ("n", "sub.count", "docs.0.k", "list.0")
_PIPELINES: tuple[Document, ...] = (
    {"$set": {"list": {"$slice": ["$list", 2]}}},
    {"$set": {"docs": {"$slice": ["$docs", 1]}, "list": {"$slice": ["$list", 1]}}},
    {"$set": {"list": {"$concatArrays": [{"$slice": ["$list", 2]}, [7]]}}},
    {"$replaceWith": {"$setField": {"field": "x.y", "input": "$$ROOT", "value": 5}}},
    {"$replaceWith": {"$setField": {"field": {"$literal": "$z"}, "input": "$$ROOT", "value": "dollar"}}},
    {"$replaceWith": {"$mergeObjects": ["$sub", {"_id": "$_id", "list": "$list"}]}},
    {"$unset": ["sub.deep", "a"]},
    {"$set": {"long": {"$slice": ["$long", 15]}}},
    {"$set": {"long": {"$slice": ["$long", 12]}, "list": {"$slice": ["$list", 1]}, "n": 1}},
    {"$set": {"long": {"$concatArrays": [{"$slice": ["$long", 10]}, ["new"]]}}},
    {"$set": {"sub.long": {"$slice": ["$long", 14]}}},
    {"$set": {"copy": "$$ROOT.sub", "now": 1}},
)


class DocumentWorkload:
    """Changes documents of one database; what the server refuses has not happened.

    Args:
        seed: of the random numbers.
        database: an empty one.
        last: the collection that gets the mark behind everything.
        keys: what makes values for `_id`.
    """

    def __init__(
        self, seed: int, database: Database[Document], last: str = "marker", keys: Sequence[Make] = KEYS
    ) -> None:
        self._last = last
        self._makes_keys = keys
        self._random = Random(seed)
        self._database = database
        self._session: ClientSession | None = None
        self._keys: dict[str, list[Any]] = {name: [] for name in _COLLECTIONS}

    def set_up(self, documents: int, identifiers: Iterable[Any] = ()) -> None:
        """Makes collections, with so many documents each, and more of these `_id`s in the first one."""
        self._database.marker.insert_one({"_id": 0})
        for name in _COLLECTIONS:
            self._database.create_collection(name, changeStreamPreAndPostImages={"enabled": True})
            for _ in range(documents):
                self._insert(name)
        first = _COLLECTIONS[0]
        for identifier in identifiers:
            self._keys[first].append(identifier)
            self._run(first, "insert_one", {"_id": identifier, **fields(self._random)})

    def change(self, steps: int) -> None:
        """Changes documents, now and then several in one transaction."""
        for _ in range(steps):
            if self._random.random() < 0.2:
                self._transaction()
            else:
                self._change_one()

    def by(self, database: Database[Document], seed: int) -> DocumentWorkload:
        """Changes of the same documents by another client, out of random numbers of its own."""
        other = DocumentWorkload(seed, database, self._last, self._makes_keys)
        other._keys = self._keys
        return other

    def end(self) -> None:
        """The mark behind everything."""
        self._database[self._last].insert_one({"_id": END_MARK})

    def _transaction(self) -> None:
        with self._database.client.start_session() as session:
            session.start_transaction()
            self._session = session
            for _ in range(self._random.randint(1, 4)):
                self._change_one()
            self._session = None
            if session.in_transaction and self._random.random() < 0.75:
                with suppress(PyMongoError):
                    session.commit_transaction()

    def _change_one(self) -> None:
        ways: tuple[Callable[[str], None], ...] = (
            *(self._insert, self._update, self._update, self._update, self._update, self._replace, self._delete),
            *(self._update_many, self._by_pipeline, self._upsert, self._find_and_modify, self._bulk),
        )
        self._random.choice(ways)(self._random.choice(_COLLECTIONS))

    def _run(self, collection: str, method: str, *arguments: Any, **options: Any) -> bool:
        target = self._database[collection]
        try:
            getattr(target, method)(*arguments, session=self._session, **options)
        except (PyMongoError, BSONError):
            return False
        return True

    def _one(self, collection: str) -> Document:
        return {"_id": self._random.choice(self._keys[collection] or [0])}

    # -- whole documents

    def _new(self, collection: str) -> Document:
        made = {"_id": key(self._random, self._makes_keys), **fields(self._random)}
        self._keys[collection].append(made["_id"])
        return made

    def _insert(self, collection: str) -> None:
        self._run(collection, "insert_one", self._new(collection))

    def _replace(self, collection: str) -> None:
        self._run(collection, "replace_one", self._one(collection), fields(self._random))

    def _delete(self, collection: str) -> None:
        self._run(collection, "delete_one", self._one(collection))

    def _find_and_modify(self, collection: str) -> None:
        method = self._random.choice(("find_one_and_update", "find_one_and_delete", "find_one_and_replace"))
        change = {"find_one_and_update": [self._operators()], "find_one_and_replace": [fields(self._random)]}
        self._run(collection, method, self._one(collection), *change.get(method, []))

    def _bulk(self, collection: str) -> None:
        new = self._new(collection)
        one = {"_id": new["_id"]}
        changes = [
            InsertOne(new),
            UpdateOne(one, self._operators()),
            ReplaceOne(self._one(collection), fields(self._random)),
            UpdateMany({"n": {"$gt": 0}}, {"$inc": {"sub.count": 1}}),
            DeleteOne(self._one(collection)),
        ]
        self._run(collection, "bulk_write", changes)

    # -- updates

    def _update(self, collection: str) -> None:
        self._run(collection, "update_one", self._one(collection), self._operators())
        if self._random.random() < 0.3:
            elements: tuple[tuple[Document, Document, list[Document] | None], ...] = (
                ({"list": {"$gt": 2}}, {"$set": {"list.$": scalar(self._random)}}, None),
                ({"docs.k": 1}, {"$inc": {"docs.$[].k": 1}}, None),
                ({}, {"$set": {"docs.$[one].v": value(self._random)}}, [{"one.k": {"$lt": 2}}]),
            )
            condition, change, filters = self._random.choice(elements)
            query = {**self._one(collection), **condition}
            self._run(collection, "update_one", query, change, array_filters=filters)

    def _update_many(self, collection: str) -> None:
        self._run(collection, "update_many", {"n": {"$lt": self._random.randint(-5, 5)}}, self._operators())

    def _by_pipeline(self, collection: str) -> None:
        stages = self._random.sample(_PIPELINES, self._random.choice((1, 1, 2)))
        self._run(collection, "update_one", self._one(collection), stages)

    def _upsert(self, collection: str) -> None:
        new = {"_id": key(self._random, self._makes_keys)}
        self._keys[collection].append(new["_id"])
        change = {**self._operators(), "$setOnInsert": {"made": value(self._random)}}
        self._run(collection, "update_one", new, change, upsert=True)

    def _operators(self) -> Document:
        """One operator or some, on different fields."""
        made: Document = {}
        for _ in range(self._random.choice((1, 1, 2, 3))):
            made |= self._operator()
        return made

    def _operator(self) -> Document:
        random = self._random
        path, other = random.sample(_PATHS, 2)
        number = random.choice(_NUMBERS)
        operators: tuple[Document, ...] = (
            {"$set": {path: value(random)}},
            {"$set": {path: value(random), other: value(random)}},
            {"$unset": {path: ""}},
            {"$unset": {path: "", other: ""}},
            {"$inc": {number: random.choice((1, -2, 0.5))}},
            {"$mul": {number: random.choice((2, 0, 1.5))}},
            {"$min": {path: scalar(random)}},
            {"$max": {path: scalar(random)}},
            {"$rename": {random.choice(FIELDS): random.choice((*FIELDS, "sub.moved"))}},
            {"$currentDate": {path: random.choice((True, {"$type": "timestamp"}))}},
            {"$push": {"list": value(random)}},
            {"$push": {"list": {"$each": [1, 2], "$position": random.randint(-1, 2), "$slice": random.randint(-4, 4)}}},
            {"$push": {"long": {"$each": ["x"], "$slice": random.choice((13, -13))}}},
            {"$pop": {"long": random.choice((1, -1))}},
            {"$push": {"docs": {"$each": [{"k": 1}], "$sort": {"k": random.choice((1, -1))}}}},
            {"$addToSet": {"list": {"$each": [random.randint(0, 9), scalar(random)]}}},
            {"$pop": {random.choice(("list", "docs")): random.choice((1, -1))}},
            {"$pull": {"list": {"$gte": random.randint(0, 5)}}},
            {"$pull": {"docs": {"k": random.randint(0, 3)}}},
            {"$pullAll": {"list": [1, 2]}},
            {"$bit": {number: {random.choice(("and", "or", "xor")): random.randint(0, 255)}}},
        )
        return random.choice(operators)
