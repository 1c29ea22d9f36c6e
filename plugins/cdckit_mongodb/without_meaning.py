"""Options of Debezium's connector and of Kafka Connect that mean nothing here, and why."""

from __future__ import annotations

from cdckit.config.no_meaning import NoMeaning

WITHOUT_MEANING = (
    NoMeaning(
        r"name|tasks\.max|connector\.class|exactly\.once\.support|transaction\.boundary|predicates|transforms",
        "Kafka Connect's own; the pipeline file has `type`, `transforms` and `predicates` for them",
    ),
    NoMeaning(
        r"errors\.(tolerance|log\.enable|log\.include\.messages|retry\.timeout)|errors\.deadletterqueue\..+",
        "Kafka Connect's own; event.processing.failure.handling.mode says what becomes of events that fail",
    ),
    NoMeaning(
        r"errors\.retry\.delay\.(initial|max)\.ms|connect\.backoff\.(initial|max)\.delay\.ms",
        "waits between attempts double from 300 ms to retriable.restart.connector.wait.ms",
    ),
    NoMeaning(r"connect\.max\.attempts", "errors.max.retries says how often a lost stream is opened anew"),
    NoMeaning(
        r"(producer|consumer)\..+",
        "options of Kafka Connect's clients; those of the sink are its own (sink: type: kafka)",
    ),
    NoMeaning(
        r"offset\..+",
        "offsets are in the pipeline's `state`, saved after the sink has what lies before them",
    ),
    NoMeaning(
        r"debezium\.embedded\..+|executor\.shutdown\.timeout\.ms",
        "threads of the JVM; a pipeline ends with what it has begun, on SIGTERM too",
    ),
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
    NoMeaning(r"statistics\.metrics\.enabled", "metrics are counted by batch where metrics.address asks for them"),
    NoMeaning(r"custom\.sanitize\.pattern", "values of options are never logged, and passwords never shown"),
    NoMeaning(r"query\.fetch\.size", "snapshot.fetch.size and max.batch.size say how much is asked for at a time"),
    NoMeaning(
        r"max\.queue\.size(\.in\.bytes)?|queue\.provider\.type",
        "there is no queue between reading and delivery; max.batch.size limits what is held",
    ),
    NoMeaning(r"topic\.cache\.size", "a topic's name is made once for each collection"),
    NoMeaning(
        r"topic\.naming\.strategy",
        "topics are PREFIX.DATABASE.COLLECTION: rename them with the transform RegexRouter or ByLogicalTableRouter",
        taken=("io.debezium.schema.schematopicnamingstrategy", "io.debezium.schema.defaulttopicnamingstrategy"),
    ),
    NoMeaning(
        r"transaction\.topic",
        "topic.transaction is the last part of that topic's name",
        taken=("${database.server.name}.transaction",),
    ),
    NoMeaning(r"internal\..+", "internal to Debezium"),
    NoMeaning(
        r"openlineage\.integration\.enabled",
        "lineage is not told to OpenLineage: leave it out",
        taken=("false",),
    ),
    NoMeaning(r"openlineage\..+", "lineage is not told to OpenLineage"),
    NoMeaning(
        r"post\.processors",
        "post processors are Java classes, which cannot be loaded here: use transforms, or write one as a plugin",
        taken=(),
    ),
    NoMeaning(
        r"sourceinfo\.struct\.maker",
        "a Java class, which cannot be loaded here: event.format says which source block events have",
        taken=("io.debezium.connector.mongodb.mongodbsourceinfostructmaker",),
    ),
    NoMeaning(
        r"transaction\.metadata\.factory",
        "a Java class, which cannot be loaded here: provide.transaction.metadata gives Debezium's own metadata",
        taken=("io.debezium.pipeline.txmetadata.defaulttransactionmetadatafactory",),
    ),
    NoMeaning(
        r"source\.struct\.version",
        "event.format says which source block events have",
        taken=("v2",),
    ),
    NoMeaning(
        r"binary\.handling\.mode",
        "documents are Extended JSON, which writes binaries in base64",
        taken=("bytes",),
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
    ),
)
