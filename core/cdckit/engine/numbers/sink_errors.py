"""Sinks and what stands before them: exit code 4."""

from __future__ import annotations

from cdckit.engine.numbers.entry import Entry

ENTRIES = (
    Entry(
        "CDC4000",
        "the sink did not take it",
        "What was written is not safe; nothing is saved beyond it.",
        "read the message.",
    ),
    Entry("CDC4001", "the sink is away", "It is tried again as the source's schedule says.", "see to the target."),
    Entry(
        "CDC4101",
        "Kafka does not answer in time",
        "Records were not acknowledged within the time that the options give.",
        "see to the brokers; `sink.timeout.ms`, `sink.kafka.message.timeout.ms`.",
    ),
    Entry("CDC4102", "the login at Kafka failed", "The brokers refuse the user.", "check `sink.kafka.sasl.*`."),
    Entry(
        "CDC4104",
        "another process writes in this one's place",
        "The transactional id is in use by a newer process.",
        "let one of the two run; two pipelines need names of their own.",
    ),
    Entry(
        "CDC4105",
        "the Kafka client failed",
        "It cannot go on.",
        "start again: what was not acknowledged is sent again.",
    ),
    Entry(
        "CDC4106",
        "a transaction takes too long",
        "The source has given no place to resume for longer than Kafka allows.",
        "raise `sink.kafka.transaction.timeout.ms`.",
    ),
    Entry("CDC4107", "a topic cannot be created", "The brokers refuse.", "create it, or correct `topic.creation.*`."),
    Entry(
        "CDC4108",
        "what the sink keeps of the offset cannot be read",
        "The offset topic is missing, not readable, or holds something else.",
        "see the message.",
    ),
    Entry(
        "CDC4109",
        "a message is too large",
        "The client, its buffer or the broker does not take a record of that size.",
        "raise `sink.kafka.message.max.bytes` and the topic's `max.message.bytes`, leave large columns out, or let "
        "`errors.tolerance: quarantine` keep such records.",
    ),
    Entry("CDC4110", "no right to write to a topic", "The brokers refuse the user.", "grant WRITE and DESCRIBE on it."),
    Entry(
        "CDC4111",
        "the topic is not there",
        "It was deleted, never existed, or has fewer partitions.",
        "create it, and start again.",
    ),
    Entry(
        "CDC4112",
        "a compacted topic takes no record without a key",
        "The table has no key, and the topic is compacted.",
        "set its `cleanup.policy` to delete, or give the table a key (`message.key.columns`).",
    ),
    Entry(
        "CDC4113",
        "Kafka has left a transaction open",
        "Its end is decided, and partitions have not heard of it: readers of committed records wait there.",
        "end it with `kafka-transactions.sh abort`, and deliver again what was in it.",
    ),
    Entry("CDC4201", "the schema registry refuses", "Login, certificate or address are wrong.", "see the message."),
    Entry("CDC4202", "the schema registry is away", "It cannot be reached now.", "the pipeline tries again."),
    Entry(
        "CDC4203",
        "the schema registry does not take a schema",
        "It is incompatible with an earlier one of its subject, or of another kind.",
        "change the subject's compatibility, or the change of the table.",
    ),
    Entry(
        "CDC4204", "a schema is not registered", "And the options forbid to register it.", "register it, or allow that."
    ),
    Entry("CDC4301", "the file cannot be written", "Disk, rights, or the file was moved away.", "see the message."),
    Entry("CDC4302", "standard output is gone", "Who read it has gone away.", "start again: nothing is lost."),
    Entry(
        "CDC4303",
        "rows of a Spark job cannot be written as they are",
        "A row names no topic, or tasks write rows that are not in the log's order.",
        "change the DataFrame as the message says.",
    ),
    Entry(
        "CDC4401",
        "a change of definition is refused",
        "`schema.evolution`, or the kind of change, does not let the table follow it.",
        "the command that the message names: `cdc resnapshot`, or `cdc schema accept`.",
    ),
    Entry(
        "CDC4402", "the table is another pipeline's", "Rows would be missing.", "`cdc resnapshot`, or another place."
    ),
    Entry("CDC4403", "two topics go to one table", "Their rows would be mixed.", "rename one of them by a router."),
    Entry("CDC4404", "rows cannot be told apart", "Rows of one of several sources were removed.", "see the message."),
    Entry(
        "CDC4405",
        "a table refuses rows",
        "They break a constraint of the table, or do not fit its columns.",
        "see the message; `errors.tolerance: quarantine` keeps such rows and goes on.",
    ),
    Entry(
        "CDC4406",
        "a branch is gone",
        "It was dropped before it was published: what was written there is nowhere.",
        "make it anew and `cdc resnapshot`, or `cdc offsets reset`.",
    ),
    Entry(
        "CDC4407",
        "a table is gone",
        "Somebody has removed it or put another one in its place, or what it was kept in is not there: made anew, it "
        "would lack most rows.",
        "`cdc resnapshot` as the message says (`cdc offsets reset` where all are gone), or put it back; "
        "`cdc offsets keep` goes on without its rows.",
    ),
)
