"""Options of Debezium's connector and of Kafka Connect that mean nothing here, and why."""

from __future__ import annotations

from cdckit import IgnoredOptions
from cdckit.connector.options.every_connector import OF_EVERY_CONNECTOR

IGNORED_OPTIONS = (
    IgnoredOptions(
        r"mongodb\.(poll\.interval\.(ms|sec)|members\.auto\.discover|task\.id)",
        "the driver finds the members by itself, and watches them (mongodb.heartbeat.frequency.ms)",
    ),
    IgnoredOptions(r"mongodb\.ssl\.(truststore|keystore)\.type", "a file's content tells what it is"),
    IgnoredOptions(
        r"mongodb\.authentication\.class",
        "a Java class, which cannot be loaded here: the connection string says how to log in (authMechanism=…)",
        taken=("io.debezium.connector.mongodb.connection.defaultmongodbauthprovider",),
    ),
    IgnoredOptions(
        r"connection\.validation\.timeout\.ms", "mongodb.server.selection.timeout.ms limits the first questions"
    ),
    IgnoredOptions(r"query\.fetch\.size", "snapshot.fetch.size and max.batch.size say how much is asked for at a time"),
    IgnoredOptions(
        r"sourceinfo\.struct\.maker",
        "a Java class, which cannot be loaded here: event.format says which source block events have",
        taken=("io.debezium.connector.mongodb.mongodbsourceinfostructmaker",),
    ),
    IgnoredOptions(
        r"binary\.handling\.mode",
        "documents are Extended JSON, which writes binaries in base64",
        taken=("bytes",),
        refused=False,
    ),
    IgnoredOptions(
        r"converters",
        "documents have no columns that a converter could be asked for: use transforms",
        taken=(),
    ),
    IgnoredOptions(
        r"event\.converting\.failure\.handling\.mode",
        "documents are shown whole; event.processing.failure.handling.mode says what becomes of events that fail",
        taken=("warn", "fail", "skip"),
    ),
    IgnoredOptions(
        r"(field\.name\.adjustment\.mode|sanitize\.field\.names)",
        "names of fields are inside of Extended JSON, which Avro sees as one string: field.renames changes single ones",
        taken=("none", "false"),
        refused=False,
    ),
    IgnoredOptions(
        r"incremental\.snapshot\.allow\.schema\.changes",
        "collections have no definition that could change",
    ),
    IgnoredOptions(
        r"snapshot\.(locking\.mode.*|mode\.configuration\.based\.snapshot\.(schema|on\.schema\.error))",
        "collections have neither locks nor definitions",
    ),
    IgnoredOptions(
        r"snapshot\.query\.mode(\.custom\.name)?",
        "a Java class, which cannot be loaded here: snapshot.collection.filter.overrides chooses documents",
        taken=("select_all",),
    ),
    IgnoredOptions(
        r"skip\.messages\.without\.change",
        "an update of a document tells what has changed; there is none without",
        taken=("false",),
        refused=False,
    ),
    *OF_EVERY_CONNECTOR,
)
