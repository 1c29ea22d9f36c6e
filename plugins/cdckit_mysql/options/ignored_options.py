"""Options of Debezium, Kafka Connect and the JDBC driver that mean nothing here, and why."""

from __future__ import annotations

from cdckit import IgnoredOptions
from cdckit.connector.options.every_connector import OF_EVERY_CONNECTOR

IGNORED_OPTIONS = (
    IgnoredOptions(
        r"errors\.retry\.delay\.initial\.ms",
        "waits between attempts double from 300 ms to retriable.restart.connector.wait.ms",
        taken=("300",),
        refused=False,
    ),
    IgnoredOptions(
        r"(driver|database\.jdbc|database\.protocol)(\..+)?",
        "there is no JDBC driver; the server is spoken to directly",
    ),
    IgnoredOptions(
        r"database\.(allowPublicKeyRetrieval|useSSL|requireSSL|verifyServerCertificate|characterEncoding|autoReconnect"
        r"|tinyInt1isBit|useUnicode|useLegacyDatetimeCode|sessionVariables|netTimeoutForStreamingResults|socketTimeout)",
        "an option of the JDBC driver; there is none: database.ssl.mode, database.initial.statements and converters do "
        "what is to be done",
    ),
    IgnoredOptions(
        r"database\.(connectionTimeZone|serverTimezone)",
        "TIMESTAMP is read in UTC from snapshot and log alike, whatever the server's zone is",
    ),
    IgnoredOptions(
        r"database\.zeroDateTimeBehavior",
        "an option of the JDBC driver; dates with zeros are null, or what ZeroDateFallbackConverter says (converters)",
    ),
    IgnoredOptions(
        r"offset\.flush\.interval\.ms",
        "it stands beside the source, not in it, and means the same; in a connector's configuration it may stay",
    ),
    IgnoredOptions(
        r"(schema\.history\.internal|database\.history)(\.(kafka|producer|consumer|file|connector|name)(\..+)?)?"
        r"|schema\.history\.internal\.prefer\.ddl",
        "the schema history is in the pipeline's `state`, durable before any offset beyond it",
    ),
    IgnoredOptions(
        r"(schema\.history\.internal|database\.history)\.(redis|jdbc|s3|azure|rocketmq)\..+",
        "not supported: the schema history is in the pipeline's `state`, with a copy in Kafka where "
        "schema.history.internal=kafka asks for one: remove it",
        taken=(),
    ),
    IgnoredOptions(
        r"connect\.keep\.alive",
        "the server's heartbeats tell that a connection is alive, without a thread; connect.keep.alive.interval.ms is "
        "how long it may be silent",
    ),
    IgnoredOptions(
        r"connection\.validation\.timeout\.ms", "connect.timeout.ms limits logging in and the first questions"
    ),
    IgnoredOptions(r"use\.nongraceful\.disconnect", "a connection that is silent for too long is closed at once"),
    IgnoredOptions(
        r"binlog\.buffer\.size",
        "what was rolled back in a transaction is left out whatever its size, and memory stays bounded",
    ),
    IgnoredOptions(
        r"ddl\.parser\.type",
        "there is one reader of DDL, for MySQL and MariaDB",
    ),
    IgnoredOptions(
        r"memory\.management\.(schemas|tables)\.class",
        "Java classes; definitions are kept once, and those that are alike share their code",
    ),
    IgnoredOptions(
        r"(query\.fetch\.size|min\.row\.count\.to\.stream\.results)",
        "rows of every table are streamed as the server sends them; snapshot.fetch.size limits a batch",
    ),
    IgnoredOptions(
        r"sourceinfo\.struct\.maker",
        "a Java class, which cannot be loaded here: event.format says which source block events have",
        taken=(
            "io.debezium.connector.mysql.mysqlsourceinfostructmaker",
            "io.debezium.connector.mariadb.mariadbsourceinfostructmaker",
        ),
    ),
    IgnoredOptions(
        r"schema\.(include|exclude)\.list",
        "MySQL has no schemas beside databases: use database.include.list and database.exclude.list",
        taken=(),
    ),
    IgnoredOptions(r"database\.dbname", "all databases are captured that database.include.list names", taken=()),
    IgnoredOptions(
        r"gtid\.new\.channel\.position",
        "a replication channel that is new is always read from its beginning, never from where it is now: remove it, "
        "or say earliest",
        taken=("earliest",),
    ),
    IgnoredOptions(
        r"database\.[A-Za-z0-9]+",
        "what is no option of the connector's goes to the JDBC driver, and there is none here",
        anyones=True,
    ),
    *OF_EVERY_CONNECTOR,
)
