"""Decoding: exit code 5. Transforms and serializers: exit code 6."""

from __future__ import annotations

from cdckit.engine.numbers.entry import Entry

DECODE = (
    Entry(
        "CDC5000",
        "something cannot be decoded",
        "What the source sent cannot be understood at the position that the message names.",
        "`errors.tolerance: quarantine` keeps it and goes on.",
    ),
    Entry(
        "CDC5101",
        "the definition does not fit the log",
        "The tracked definition of a table is not the one that the log announces.",
        "`cdc run FILE --set source.snapshot.mode=recovery` where no definition has changed since, else a new state.",
    ),
    Entry(
        "CDC5102",
        "a table's definition is not known",
        "The schema history has none.",
        "a new snapshot of the definitions.",
    ),
    Entry("CDC5103", "the log has a gap", "The server itself says so: changes are lost.", "take a new snapshot."),
    Entry(
        "CDC5104",
        "a change was logged as a statement",
        "A session has set `binlog_format` to STATEMENT or MIXED.",
        "forbid that; take a new snapshot of the table.",
    ),
    Entry(
        "CDC5105",
        "a statement cannot be read",
        "It may change a table, and is not understood.",
        "`schema.history.internal.skip.unparseable.ddl: true` where it concerns no captured table.",
    ),
    Entry("CDC5106", "a column's type is not known", "Its values cannot be told.", "exclude the column."),
    Entry("CDC5107", "a converter failed", "The plugin's converter raised.", "correct the converter."),
    Entry(
        "CDC5108",
        "a date cannot be",
        "Such as 2023-02-31; or 2024-00-00 in a key, where two such keys would be one.",
        "correct the row, or see the message.",
    ),
    Entry("CDC5109", "two columns share a name", "Their adjusted names are the same.", "see the message."),
    Entry("CDC5110", "the log or topic is damaged", "On disk or on its way.", "restore it, or take a new snapshot."),
    Entry("CDC5201", "a row is not in its message", "It was too large for Kafka at TiCDC's.", "see the message."),
    Entry(
        "CDC5202",
        "a schema is missing",
        "The message needs one that was not seen.",
        "begin earlier, or see the message.",
    ),
    Entry("CDC5203", "a registry is needed", "The messages refer to one.", "give `schema.registry.url`."),
    Entry(
        "CDC5204",
        "no message of this protocol",
        "It is of another kind, or damaged.",
        "correct `protocol`, or the topic.",
    ),
    Entry("CDC5301", "a change event cannot be understood", "It lacks what MongoDB's have.", "see the message."),
)

TRANSFORM = (
    Entry("CDC6000", "a transform or serializer failed", "On the record that the message names.", "read the message."),
    Entry(
        "CDC6101",
        "a transform failed",
        "The message names the step and the record.",
        "try it: `cdc record`, `cdc transform --explain`; a predicate leaves records out; `errors.tolerance: "
        "quarantine` "
        "keeps them.",
    ),
    Entry(
        "CDC6201",
        "a record cannot be written",
        "Its value does not fit its schema, or the serializer cannot write it.",
        "look at the last transform that changed it.",
    ),
)
