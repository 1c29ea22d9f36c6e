"""Sources: exit code 3."""

from __future__ import annotations

from cdckit.engine.numbers.entry import Entry

ENTRIES = (
    Entry("CDC3000", "the source refuses", "It cannot give what the pipeline needs.", "read the message."),
    Entry(
        "CDC3001",
        "the source is away",
        "The connection was lost or could not be made; the pipeline tries again as its options say.",
        "wait, or see to the server and the network.",
    ),
    Entry(
        "CDC3002",
        "a snapshot is due",
        "The place to go on from is gone, and the options allow a new snapshot for that, which is taken.",
        "nothing.",
    ),
    Entry(
        "CDC3101",
        "the log is lost",
        "The source does not have the changes any more that come next: its log was purged, or it is another server's.",
        "`snapshot.mode: when_needed` takes a new snapshot, as does `cdc offsets reset FILE`; have the log kept for "
        "longer. `cdc doctor` tells of the next time beforehand.",
    ),
    Entry(
        "CDC3102",
        "another server, and no GTIDs",
        "The offset counts the log of another server than the one that answers, and without GTIDs the place cannot "
        "be found.",
        "connect to the former server, or start anew with a new state; turn on GTIDs.",
    ),
    Entry(
        "CDC3103",
        "the server lacks what was read elsewhere",
        "A replica has taken over that has not replicated yet what was read at the former server.",
        "wait: the pipeline does. Where it never comes, start anew.",
    ),
    Entry(
        "CDC3104",
        "a topic was deleted or made anew",
        "What the saved offset tells of is not there any more.",
        "start anew with a new state.",
    ),
    Entry(
        "CDC3105", "the log ended early", "It ended before a place that it was to reach.", "the pipeline tries again."
    ),
    Entry(
        "CDC3201",
        "the server cannot be reached",
        "No connection can be made, or it broke.",
        "check host and port, the network, and whether the server runs.",
    ),
    Entry(
        "CDC3202",
        "the login failed",
        "The server refuses the user.",
        "check user and password, and from which hosts the user may log in.",
    ),
    Entry(
        "CDC3203",
        "a privilege is missing",
        "The user may not do what the pipeline needs.",
        "the message has the GRANT.",
    ),
    Entry(
        "CDC3204",
        "TLS failed",
        "The connection cannot be encrypted as asked, or a password would travel in the open.",
        "check `database.ssl.*` and the server's certificate.",
    ),
    Entry(
        "CDC3205",
        "another reader has the same server id",
        "The server has thrown this reader out, since another one with the same number has connected.",
        "give each pipeline a `database.server.id` of its own.",
    ),
    Entry("CDC3301", "no binary log", "The server writes none.", "set `log_bin` and `server_id`, and restart it."),
    Entry("CDC3302", "the log holds statements", "`binlog_format` is not ROW.", "`SET GLOBAL binlog_format = ROW`."),
    Entry(
        "CDC3303",
        "no replica set",
        "The MongoDB server has no oplog, or is not initiated.",
        "start it with `--replSet` and initiate a set of one member.",
    ),
    Entry("CDC3304", "the server is too old", "An option needs a newer version.", "see the message."),
    Entry(
        "CDC3305",
        "an event is too large to be read",
        "It is larger than the server sends or the client takes.",
        "MongoDB: `cursor.oversize.handling.mode: split`; Kafka: `source.kafka.receive.message.max.bytes`.",
    ),
    Entry(
        "CDC3401", "topic or files are missing", "What is to be read is not there.", "correct the name, or create it."
    ),
    Entry("CDC3402", "a file cannot be read", "The file system or store refuses.", "see the message."),
    Entry(
        "CDC3403",
        "the schema registry refuses",
        "It refuses the login, or is no registry.",
        "check `schema.registry.url` and its login.",
    ),
    Entry("CDC3404", "the schema registry is away", "It cannot be reached now.", "the pipeline tries again."),
    Entry("CDC3405", "a topic cannot be read", "That of a schema history gives nothing.", "see the message."),
    Entry(
        "CDC3501",
        "the schema history cannot be made anew",
        "`snapshot.mode: recovery` needs definitions that have not changed since.",
        "start anew with a new state.",
    ),
    Entry(
        "CDC3502",
        "a lock is not known",
        "The server lacks the asked kind of lock.",
        "`snapshot.locking.mode: minimal`.",
    ),
    Entry(
        "CDC3503",
        "no room for a large transaction",
        "It cannot be kept until it ends.",
        "name a folder with more room in TMPDIR.",
    ),
    Entry(
        "CDC3504",
        "a table changed while it was read",
        "Its definition changed within the snapshot.",
        "the pipeline reads it again.",
    ),
    Entry(
        "CDC3505",
        "a table has other columns than the query",
        "A query of your own with the option `table` has the columns that the table had when it was planned, and the "
        "log has changed them since.",
        "start the query again: it goes on from its checkpoint with the columns of now, null in rows from before.",
    ),
    Entry(
        "CDC3506",
        "older values are of another type",
        "A query of your own with the option `table` has met rows from before a column's type was changed.",
        "begin behind that change with the option `from`.",
    ),
    Entry(
        "CDC3507",
        "the log does not tell what became of a table's rows",
        "Partitions were dropped, exchanged or imported, or another table has got the name: no event tells which rows "
        "came or went.",
        "begin behind it with the option `from`, or anew with another state and another checkpoint.",
    ),
    Entry(
        "CDC3508",
        "a snapshot begins anew without end",
        "Each attempt had to begin anew for the reason in the message: a table is another one than its source's log "
        "has told, or the log behind a snapshot was lost before that was read.",
        "for a table, `cdc offsets reset FILE` takes a new snapshot by what the source shows; for a log, have the "
        "source keep it for longer than a snapshot takes.",
    ),
)
