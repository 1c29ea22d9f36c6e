"""Records answers that `test_changes` damages, from a real server: `PYTHONPATH=tests python -m fuzz.record_changes`."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from typing import Any

from bson import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient

from fuzz.changes import RECORDED
from mongodb.workload import change, set_up
from testkit.servers.mongodb import MongoReplicaSet

_RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
_EVENTS = 4


def answers(client: MongoClient[dict[str, Any]]) -> Iterator[bytes]:
    """The server's answers to a change stream over the workload, a few events each."""
    stream = {"$changeStream": {"allChangesForCluster": True, "fullDocument": "updateLookup",
                                "fullDocumentBeforeChange": "whenAvailable", "showExpandedEvents": False}}  # fmt: skip
    command = {"aggregate": 1, "pipeline": [stream], "cursor": {"batchSize": _EVENTS}}
    reply = client.admin.command(command, codec_options=_RAW)
    change(client)
    while True:
        yield bytes(reply.raw)
        if not reply["cursor"].get("firstBatch", reply["cursor"].get("nextBatch")) and "nextBatch" in reply["cursor"]:
            return
        more = {
            "getMore": reply["cursor"]["id"],
            "collection": "$cmd.aggregate",
            "batchSize": _EVENTS,
            "maxTimeMS": 500,
        }
        reply = client.admin.command(more, codec_options=_RAW)


def main() -> None:
    with MongoReplicaSet() as servers, MongoClient[dict[str, Any]](servers.uri) as client:
        set_up(client)
        found = b"".join(answers(client))
    RECORDED.write_bytes(lzma.compress(found))
    print(len(found), RECORDED.stat().st_size)


if __name__ == "__main__":
    main()
