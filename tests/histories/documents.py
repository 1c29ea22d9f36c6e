"""Documents: as events tell of them, and as collections have them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pymongo import MongoClient
from pymongo.read_concern import ReadConcern

from cdckit_mongodb.extended_json import COMPACT, IDENTIFIER
from cdckit_mongodb.server.connection import CODEC

Documents = dict[tuple[str, str], str]
"""The text of each document, by its topic and its `_id`."""


@dataclass(slots=True)
class Told:
    """What a sink tells of documents.

    Attributes:
        documents: those that are there.
        ever: the topic and the `_id` of each that is there, or was.
    """

    documents: Documents = field(default_factory=dict)
    ever: set[tuple[str, str]] = field(default_factory=set)

    def take(self, topic: str, identifier: str, document: str | None, *, deleted: bool) -> None:
        """Takes what happened to a document; None where it was gone when its update was looked up."""
        key = topic, identifier
        self.ever.add(key)
        if deleted:
            self.documents.pop(key, None)
        elif document is not None:
            self.documents[key] = document_text(document)

    def empty(self, topic: str) -> None:
        """Takes that all documents of a topic are gone, or are told anew."""
        self.documents = {key: text for key, text in self.documents.items() if key[0] != topic}


def folded(records: Iterable[Mapping[str, Any]]) -> Told:
    """What events come to.

    Args:
        records: their topics, keys and values, those of a key in their order.
    """
    told = Told()
    for record in records:
        value = record["value"]
        if value is not None and "op" in value:
            told.take(record["topic"], record["key"]["id"], value["after"], deleted=value["op"] == "d")
    return told


def document_text(document: str) -> str:
    """A document with its `_id` first, as collections have it; a change that replaces it may show it elsewhere."""
    members = json.loads(document, object_pairs_hook=tuple)
    return repr(sorted(members, key=lambda member: member[0] != "_id"))


def in_collections(client: MongoClient[dict[str, Any]], database: str, prefix: str, but: str) -> Documents:
    """What a majority of the members has of the collections but one, read whole, and written as events have it.

    How documents are written is held to the Java driver's own text in `tests/mongodb`.
    """
    majority = ReadConcern("majority")
    found: Documents = {}
    for name in {*client[database].list_collection_names()} - {but}:
        topic = f"{prefix}.{database}.{name.replace(' ', '_')}"
        for document in client[database].get_collection(name, codec_options=CODEC, read_concern=majority).find():
            found[topic, IDENTIFIER.value(document["_id"])] = document_text(COMPACT.document(document))
    return found


def difference(expected: Documents, found: Documents) -> str:
    """Some of what differs; "" for nothing."""
    lines = [f"missing {key}" for key in expected.keys() - found.keys()]
    lines += [f"extra {key}" for key in found.keys() - expected.keys()]
    both = expected.keys() & found.keys()
    lines += [f"{key}: {found[key]} for {expected[key]}" for key in both if expected[key] != found[key]]
    return "\n".join(lines[:10])
