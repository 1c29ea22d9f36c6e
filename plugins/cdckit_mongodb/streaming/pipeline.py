"""The aggregation that opens a change stream: where it starts, what it shows, what the server leaves out."""

from __future__ import annotations

import json
import re
from typing import Any

from bson import Timestamp, json_util

from cdckit import split_names
from cdckit.java.regex import split_patterns
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mongodb.offsets import StreamOffset
from cdckit_mongodb.options.stream import Stage

_KINDS = {"c": ("insert",), "u": ("update", "replace"), "d": ("delete",)}
_WHOLE_UPDATES = {"lookup": "updateLookup", "post_image": "whenAvailable", "post_image_required": "required"}
_NOTICES = ("drop", "rename", "dropDatabase", "invalidate")
"""Events that make no record, yet are told of."""
_SIMPLE_PATTERN = re.compile(r"(?:[\w*+?|()$^. -]|\\[.dswDSW$-])*")
"""Regular expressions that mean the same to Java and to the server; `*+` and the like do not stand in them."""
_UNUSUAL_NAME = "[^ -~]"
"""Names with letters of which Java and the server think differently (case, line ends): what is excluded of them is left
out here."""
_POSSESSIVE = re.compile(r"[*+?][+]|\(\?")


def stages(config: MongoDbConfig, offset: StreamOffset | None, group: int | None = None) -> list[Stage]:
    """The stages, by `cursor.pipeline.order`.

    Args:
        config: the source's options.
        offset: where to go on; None: from now on.
        group: the number of the group of collections that the stream is of; None: all of them.
    """
    user = json_util.loads(json.dumps(config.cursor_pipeline))
    own = _match(config, group, offset)
    order = {"internal_first": [*own, *user], "user_first": [*user, *own], "user_only": user}
    split: list[Stage] = (
        [{"$changeStreamSplitLargeEvent": {}}] if config.cursor_oversize_handling_mode == "split" else []
    )
    return [
        {"$changeStream": _change_stream(config, offset)},
        *_sizes(config),
        *order[config.cursor_pipeline_order],
        *split,
    ]


def _change_stream(config: MongoDbConfig, offset: StreamOffset | None) -> Stage:
    options: Stage = {"allChangesForCluster": True} if config.capture_scope == "deployment" else {}
    if config.whole_updates:
        options["fullDocument"] = _WHOLE_UPDATES[config.capture_mode_full_update_type]
    if config.asks_for_pre_images:
        required = config.capture_mode_pre_image == "required"
        options["fullDocumentBeforeChange"] = "required" if required else "whenAvailable"
    return {**options, **_start(offset)}


def _start(offset: StreamOffset | None) -> Stage:
    if offset is None:
        return {}
    if offset.token is None:
        # The moment of a snapshot is in the snapshot: the stream begins behind it.
        return {"startAtOperationTime": Timestamp(offset.moment[0], offset.moment[1] + 1)}
    return {"startAfter": offset.token}  # unlike resumeAfter it takes the token of a stream's end, too


def _sizes(config: MongoDbConfig) -> list[Stage]:
    """Leaves out documents beyond the threshold before the server builds their events."""
    if config.cursor_oversize_handling_mode != "skip":
        return []
    small = [
        {"$expr": {"$lte": [{"$bsonSize": field}, config.cursor_oversize_skip_threshold]}}
        for field in ("$fullDocument", "$fullDocumentBeforeChange")
    ]
    return [{"$match": {"$and": small}}]


def _match(config: MongoDbConfig, group: int | None, offset: StreamOffset | None) -> list[Stage]:
    """What the server need not send: other operations, and what the lists leave out as far as it can tell.

    A server resumes at an event only where the stages let that event pass, which may be one of another group, or of
    a collection that was captured until now.
    """
    kinds = [kind for operation, kinds in _KINDS.items() if operation not in config.skipped for kind in kinds]
    changes: Stage = {"operationType": {"$in": kinds}, **_namespace(config, group)}
    database, _, collection = config.signal_data_collection.partition(".")
    signals: list[Stage] = [{"ns": {"db": database, "coll": collection}}] if database else []
    # Else a server looks for the event of the token among those that pass, does not meet it, and fails (error 280).
    resumed: list[Stage] = [] if offset is None else [{"clusterTime": Timestamp(*offset.time)}]
    return [{"$match": {"$or": [changes, *signals, *resumed, {"operationType": {"$in": list(_NOTICES)}}]}}]


def _namespace(config: MongoDbConfig, group: int | None) -> Stage:
    name = {"$concat": ["$ns.db", ".", "$ns.coll"]}
    conditions = [
        condition
        for field, include, exclude in (
            ("$ns.db", config.database_include_list, config.database_exclude_list),
            (name, config.collection_include_list, config.collection_exclude_list),
        )
        for condition in (_listed(config, field, include), _not_listed(config, field, exclude))
        if condition
    ] + _grouped(config, name, group)
    return {"$expr": {"$and": conditions}} if conditions else {}


def _grouped(config: MongoDbConfig, name: Stage, group: int | None) -> list[Stage]:
    """A group's collections: those that are in its list and in none before it; the rest is behind the last list."""
    if group is None:
        return []
    lists = config.capture_collection_groups
    others = [_not_listed(config, name, text) for text in lists[:group]]
    own = [_listed(config, name, text) for text in lists[group : group + 1]]
    return [condition for condition in (*others, *own) if condition]


def _listed(config: MongoDbConfig, field: Any, text: str) -> Stage | None:
    """Whether a name is in a list; None where there is no list, or one that only Java's rules can tell."""
    if not text:
        return None
    if config.filters_match_mode == "literal":
        return {"$in": [field, list(split_names(text))]}
    patterns = split_patterns(text)
    if not all(_SIMPLE_PATTERN.fullmatch(one) and not _POSSESSIVE.search(one) for one in patterns):
        return None
    return {"$regexMatch": {"input": field, "regex": f"^(?:{'|'.join(patterns)})$", "options": "i"}}


def _not_listed(config: MongoDbConfig, field: Any, text: str) -> Stage | None:
    """Whether a name is in no list; the server is asked to leave out no more than Java's rules do."""
    listed = _listed(config, field, text)
    if listed is None or config.filters_match_mode == "literal":
        return listed and {"$not": [listed]}
    return {"$or": [{"$not": [listed]}, {"$regexMatch": {"input": field, "regex": _UNUSUAL_NAME}}]}
