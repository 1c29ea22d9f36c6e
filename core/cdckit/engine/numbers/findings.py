"""What `cdc doctor` and `cdc validate --connect` find."""

from __future__ import annotations

from cdckit.engine.numbers.entry import Entry

ENTRIES = (
    Entry(
        "CDC1000",
        "a check without a number of its own",
        "A check of a plugin has found something that no other number stands for.",
        "read the finding and its remedy.",
    ),
    Entry(
        "CDC1101",
        "the log is purged soon",
        "The server drops the part of its log that the pipeline has yet to read: before the pipeline has read it "
        "(`fail`), or sooner than `forecast.warning.ms` (`warn`). Once it is dropped the changes in it are lost. The "
        "forecast "
        "takes the ages of log files, the server's settings, and the rates of the last minutes.",
        "start the pipeline if it stands, give it more room (a faster sink, a larger machine), or have the server keep "
        "its log for longer by the command that the finding names, before anything else.",
    ),
    Entry(
        "CDC1102",
        "the lag grows",
        "Over the last minutes the pipeline has delivered less than the server has written.",
        "look at the sink (`cdckit_queue_messages`), at slow transforms, and at the machine; the runner `spark` "
        "reads a "
        "long log in parallel.",
    ),
    Entry(
        "CDC1103",
        "the place to go on from is gone",
        "The server does not have the log any more that the saved offset stands in.",
        "`snapshot.mode: when_needed` takes a new snapshot, as does `cdc offsets reset FILE`.",
    ),
    Entry(
        "CDC1104",
        "the log is kept for a short time",
        "The log reaches back for less than a day: a pipeline that is down for longer cannot go on.",
        "MySQL: `SET PERSIST binlog_expire_logs_seconds = 604800`; MariaDB: the same by `SET GLOBAL`, and in the "
        "configuration; MongoDB: `replSetResizeOplog`, as the finding says.",
    ),
    Entry(
        "CDC1105",
        "the pipeline does not catch up",
        "It is behind the log's end, and at the rate of the last minutes it never reaches it.",
        "as for CDC1102.",
    ),
    Entry(
        "CDC1106",
        "how long the log is kept cannot be told",
        "The user may not read what tells of it, so that there is no forecast.",
        "grant the rights that the finding names.",
    ),
    Entry(
        "CDC1107",
        "the last run ended badly",
        "`cdc status` shows the pipeline as failed, killed or stale.",
        "read the error, whose own number says more, and start the pipeline again.",
    ),
    Entry(
        "CDC1108",
        "the pause takes much of the oplog",
        "The pipeline is so far behind that twice the pause is more than the oplog holds.",
        "run the pipeline soon, or have the oplog kept for longer by the command that the finding names.",
    ),
    Entry(
        "CDC1202",
        "the server writes no binary log",
        "Without `log_bin` there is nothing to be read.",
        "set `log_bin` and a `server_id` in the server's configuration, and restart it.",
    ),
    Entry(
        "CDC1203",
        "the log holds statements, not rows",
        "`binlog_format` is not ROW, so that the log does not tell what rows become.",
        "`SET GLOBAL binlog_format = ROW`, also in the configuration; sessions that are open have to connect anew.",
    ),
    Entry(
        "CDC1204",
        "rows are logged in part",
        "`binlog_row_image` is not FULL: columns that a change does not carry become `unavailable.value.placeholder` "
        "or "
        "null.",
        "`SET GLOBAL binlog_row_image = FULL`, also in the configuration.",
    ),
    Entry(
        "CDC1205",
        "the log has no names of columns",
        "`binlog_row_metadata` is MINIMAL: a definition that was changed unseen shows only by its types.",
        "`SET GLOBAL binlog_row_metadata = FULL`.",
    ),
    Entry(
        "CDC1206",
        "no GTIDs",
        "The place in the log is one of this server alone: after a failover the pipeline cannot go on at another one.",
        "`enforce_gtid_consistency = ON`, then `gtid_mode = ON`, in the steps of MySQL's manual.",
    ),
    Entry(
        "CDC1207",
        "a privilege is missing",
        "The user may not do what snapshot or stream need.",
        "the finding has the GRANT, or for MongoDB the actions, word for word.",
    ),
    Entry(
        "CDC1208",
        "the server id is taken",
        "Another replica, or the server itself, has the number `database.server.id`; of two readers with one number "
        "the "
        "server throws the older one out.",
        "set `database.server.id` to a number that no other has.",
    ),
    Entry(
        "CDC1209",
        "statements are not logged beside rows",
        "`include.query` is on, and the server does not log the statements.",
        "set the variable that the finding names, or `include.query: false`.",
    ),
    Entry(
        "CDC1210",
        "nothing is captured",
        "No table or collection that there is now is captured.",
        "correct the include lists; each entry must match a whole name.",
    ),
    Entry(
        "CDC1211",
        "an entry of an include list matches nothing",
        "It may be misspelt, or for a table that is to come.",
        "correct the name, or leave it.",
    ),
    Entry(
        "CDC1212",
        "the signal table cannot be used",
        "`signal.data.collection` is not there, has other columns, or may not be written: incremental snapshots need "
        "it.",
        "the finding has the CREATE TABLE or the GRANT.",
    ),
    Entry(
        "CDC1213",
        "the connection is not encrypted",
        "Data and, with some authentication plugins, the password travel in the open.",
        "set up TLS at the server and `database.ssl.mode: required`.",
    ),
    Entry(
        "CDC1214",
        "the replica does not log what it replicates",
        "The server is a replica with `log_replica_updates` off: the changes of its primary are not in its log, and "
        "the "
        "pipeline would not see them.",
        "set `log_replica_updates = ON` in its configuration and restart it, or read from the primary.",
    ),
    Entry(
        "CDC1215",
        "a captured database is left out of the log",
        "`binlog_do_db` or `binlog_ignore_db` keeps changes of captured tables out of the log; they would be missed.",
        "take the database out of that list in the server's configuration, and restart it.",
    ),
    Entry(
        "CDC1216",
        "JSON documents are logged in part",
        "`binlog_row_value_options` has PARTIAL_JSON: an update carries a difference, which needs the document "
        "before it.",
        "nothing, where `binlog_row_image` is FULL; else `SET GLOBAL binlog_row_value_options = ''`.",
    ),
    Entry(
        "CDC1217",
        "the server's time zone is not UTC",
        "TIMESTAMP columns are shown in UTC whatever the zone is; their default values, and DATETIME columns, stand in "
        "the zone of whoever wrote them.",
        "`SET GLOBAL time_zone = '+00:00'` (also in the configuration) where that matters, or convert by "
        "`TimezoneConverter`.",
    ),
    Entry(
        "CDC1218",
        "clocks differ",
        "The server's clock and the one here differ by more than two seconds: lag in seconds, heartbeats and the "
        "forecast are off by so much.",
        "have both follow the same time servers (NTP).",
    ),
    Entry(
        "CDC1219",
        "captured tables have no key",
        "Their records have no key: Kafka spreads them over partitions without an order, compaction does not take "
        "them, "
        "and a mirror finds rows by all their values.",
        "add a primary key, or name columns by `message.key.columns`.",
    ),
    Entry(
        "CDC1220",
        "values of a column cannot be told",
        "The column's type or character set is not known here, and the first event of its table would stop the "
        "pipeline.",
        "leave the column out by `column.exclude.list`.",
    ),
    Entry(
        "CDC1221",
        "the replica is behind or stands still",
        "The server is a replica whose replication has stopped, or is more than a minute behind its primary: so is all "
        "that is read there.",
        "look at `SHOW REPLICA STATUS`, and start replication again.",
    ),
    Entry(
        "CDC1222",
        "the server is too old for an option, or untested",
        "An option needs a newer MongoDB, or the server is older than those that this source is tested with.",
        "use the version that the finding names, or another value of the option.",
    ),
    Entry(
        "CDC1224",
        "images are not kept",
        "A captured collection has no `changeStreamPreAndPostImages`, which the options ask for.",
        "`collMod` with `changeStreamPreAndPostImages: {enabled: true}`.",
    ),
    Entry(
        "CDC1225",
        "changes by foreign keys are not logged",
        "A captured table has a foreign key with ON DELETE or ON UPDATE and CASCADE, SET NULL or SET DEFAULT. Where "
        "InnoDB itself acts on it (MariaDB, MySQL before 9.6, `innodb_native_foreign_keys`), the binary log has the "
        "change of the parent's row alone: those of the captured table's rows are missed.",
        "delete or change such rows by statements before the parent's, or read the table anew from time to time "
        "(`cdc resnapshot FILE --table T`).",
    ),
    Entry(
        "CDC1226",
        "time series are captured",
        "MongoDB's change streams have no events of time series: their documents come with snapshots, and what changes "
        "later is missed.",
        "exclude them by `collection.exclude.list`, or read them anew from time to time (`cdc resnapshot`).",
    ),
    Entry(
        "CDC1301",
        "the disk of the state is nearly full",
        "A state that cannot be written stops the pipeline.",
        "make room, or move the state (`state`, `local.folder`, `quarantine.folder`) to a larger disk.",
    ),
    Entry(
        "CDC1302",
        "the state's folder cannot be written",
        "Nothing can be saved there.",
        "give the user the right to write, or name another folder in `state`.",
    ),
    Entry(
        "CDC1303",
        "the state store takes no saves",
        "It can be reached, and is none that can be written, such as a replica.",
        "name the primary.",
    ),
    Entry(
        "CDC1304",
        "the state store may lose saves",
        "Its settings allow that what was saved is gone after a restart, or when memory is full.",
        "change the setting that the finding names.",
    ),
    Entry(
        "CDC1401",
        "the sink cannot be reached",
        "No broker answers, or they refuse.",
        "check `bootstrap.servers` and the options for TLS and login.",
    ),
    Entry(
        "CDC1402",
        "an option of the Kafka client is wrong",
        "The client does not take it.",
        "correct the option.",
    ),
    Entry(
        "CDC1403",
        "too few brokers for the replicas",
        "Topics cannot be created with as many replicas.",
        "lower `topic.creation.*.replication.factor`.",
    ),
    Entry(
        "CDC1404",
        "topics may not be created",
        "The user has no right to create topics, or that cannot be told.",
        "grant CREATE, or create the topics and set `topic.creation.enable: false`.",
    ),
    Entry(
        "CDC1405",
        "a topic of events is compacted",
        "`cleanup.policy=compact` keeps the newest event of a key alone: the changes between are gone, records "
        "without a "
        "key are refused, and whoever reads the topic later sees no history.",
        "`kafka-configs --alter --topic TOPIC --add-config cleanup.policy=delete`, unless only the newest row of "
        "each key "
        "is wanted.",
    ),
    Entry(
        "CDC1406",
        "a topic keeps its messages for a short time",
        "`retention.ms` (or `retention.bytes`) lets a consumer that is down for a day lose events.",
        "`kafka-configs --alter --topic TOPIC --add-config retention.ms=604800000`.",
    ),
    Entry(
        "CDC1407",
        "the topic of the schema history loses history",
        "It is compacted, or deletes old messages: a schema history needs every one of its records.",
        "`kafka-configs --alter --topic TOPIC --add-config cleanup.policy=delete,retention.ms=-1,retention.bytes=-1`.",
    ),
    Entry(
        "CDC1408",
        "the lake's place cannot be written, or is not known",
        "Nothing can be made in the folder, or only Spark can reach it.",
        "name another path in `sink.path`; `cdc run FILE --once` tells of those that Spark alone reaches.",
    ),
    Entry(
        "CDC1409",
        "the file cannot be written",
        "Its folder is missing or may not be written.",
        "name another file in `sink.path`.",
    ),
)
