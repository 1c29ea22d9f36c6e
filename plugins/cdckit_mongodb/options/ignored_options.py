"""Options of Debezium's connector and of Kafka Connect that mean nothing here, and why."""

from __future__ import annotations

from cdckit import NoMeaning
from cdckit.connector.options.every_connector import OF_EVERY_CONNECTOR

WITHOUT_MEANING = (
    NoMeaning(
        r"mongodb\.(poll\.interval\.(ms|sec)|members\.auto\.discover|task\.id)",
        "the driver finds the members by itself, and watches them (mongodb.heartbeat.frequency.ms)",
    ),
    NoMeaning(r"mongodb\.ssl\.(truststore|keystore)\.type", "a file's content tells what it is"),
    NoMeaning(
        r"mongodb\.authentication\.class",
        "a Java class, which cannot be loaded here: the connection string says how to log in (authMechanism=…)",
        taken=("io.debezium.connector.mongodb.connection.defaultmongodbauthprovider",),
    ),
    NoMeaning(r"connection\.validation\.timeout\.ms", "mongodb.server.selection.timeout.ms limits the first questions"),
    NoMeaning(r"query\.fetch\.size", "snapshot.fetch.size and max.batch.size say how much is asked for at a time"),
    NoMeaning(
        r"sourceinfo\.struct\.maker",
        "a Java class, which cannot be loaded here: event.format says which source block events have",
        taken=("io.debezium.connector.mongodb.mongodbsourceinfostructmaker",),
    ),
    NoMeaning(
        r"binary\.handling\.mode",
        "documents are Extended JSON, which writes binaries in base64",
        taken=("bytes",),
        refused=False,
    ),
    NoMeaning(
        r"converters",
        "documents have no columns that a converter could be asked for: use transforms",
        taken=(),
    ),
    NoMeaning(
        r"event\.converting\.failure\.handling\.mode",
        "documents are shown whole; event.processing.failure.handling.mode says what becomes of events that fail",
        taken=("warn", "fail", "skip"),
    ),
    NoMeaning(
        r"(field\.name\.adjustment\.mode|sanitize\.field\.names)",
        "names of fields are inside of Extended JSON, which Avro sees as one string: field.renames changes single ones",
        taken=("none", "false"),
        refused=False,
    ),
    NoMeaning(
        r"incremental\.snapshot\.allow\.schema\.changes",
        "collections have no definition that could change",
    ),
    NoMeaning(
        r"snapshot\.(locking\.mode.*|mode\.configuration\.based\.snapshot\.(schema|on\.schema\.error))",
        "collections have neither locks nor definitions",
    ),
    NoMeaning(
        r"snapshot\.query\.mode(\.custom\.name)?",
        "a Java class, which cannot be loaded here: snapshot.collection.filter.overrides chooses documents",
        taken=("select_all",),
    ),
    NoMeaning(
        r"skip\.messages\.without\.change",
        "an update of a document tells what has changed; there is none without",
        taken=("false",),
        refused=False,
    ),
    *OF_EVERY_CONNECTOR,
)
