"""Debezium's options: those that a connector has, and those that mean nothing here whichever it is, and why."""

from __future__ import annotations

from importlib import resources

from cdckit.api.ignored_options import IgnoredOptions


def peer_options(package: str, file: str = "debezium_options.tsv") -> dict[str, str]:
    """The options of Debezium's connector, with their defaults, as a file of a source's package lists them.

    Args:
        package: the package.
        file: a line for each option: its name, its default and, where Debezium lists them, its allowed values.
    """
    text = resources.files(package).joinpath(file).read_text(encoding="utf-8")
    lines = (line.split("\t") for line in text.splitlines())
    return {name: default for name, default, *_values in lines}


PROMISES = (
    IgnoredOptions(
        r"exactly\.once\.support",
        "a pipeline repeats what was not saved when it was killed, and tells so, unless the sink is `kafka` with "
        "`delivery.guarantee: exactly-once`; Spark's Delta tables have each change once: set it there, and remove it "
        "here, or ask for it as `requested`",
        taken=("requested",),
    ),
    IgnoredOptions(
        r"offset\.storage",
        "offsets are kept in the pipeline's `state` (on Spark, `checkpoint` keeps them in an object store), not where "
        "this class keeps them: remove it",
        taken=(
            "org.apache.kafka.connect.storage.fileoffsetbackingstore",
            "org.apache.kafka.connect.storage.memoryoffsetbackingstore",
        ),
    ),
    IgnoredOptions(
        r"offset\.storage\.(?!file\.).+",
        "offsets are kept in the pipeline's `state` (on Spark, `checkpoint` keeps them in an object store), nowhere "
        "else: remove it",
        taken=(),
    ),
)
"""What Kafka Connect and Debezium's engine would promise by these, and cannot be kept here."""


def broken_promise(name: str, value: object) -> str:
    """Why what an option would promise cannot be kept; "" where nothing is promised by it."""
    return next((one.why for one in PROMISES if one.means(name) and not one.takes(value)), "")


OF_EVERY_CONNECTOR = (
    *PROMISES,
    IgnoredOptions(
        r"errors\.(tolerance|log\.enable|log\.include\.messages)",
        "the pipeline's own, and stands at the top of its file",
        taken=("none", "false"),
    ),
    IgnoredOptions(r"errors\.retry\.timeout", "Kafka Connect's own; what a transform fails on is not tried again"),
    IgnoredOptions(
        r"errors\.deadletterqueue\..+",
        "the pipeline's own: beside `errors.tolerance: all` or `quarantine` the topic keeps records that fail",
    ),
    IgnoredOptions(r"topic\.cache\.size", "a topic's name is made once for each version of a table or collection"),
    IgnoredOptions(
        r"name|tasks\.max|connector\.class|transaction\.boundary|predicates|transforms",
        "Kafka Connect's own; the pipeline file has `type`, `transforms` and `predicates` for them",
    ),
    IgnoredOptions(
        r"(producer|consumer)\..+",
        "options of Kafka Connect's clients; those of the sink are its own (sink: type: kafka)",
    ),
    IgnoredOptions(
        r"offset\..+",
        "offsets are in the pipeline's `state`, saved after the sink has what lies before them",
    ),
    IgnoredOptions(
        r"debezium\.embedded\..+|executor\.shutdown\.timeout\.ms",
        "threads of the JVM; a pipeline ends with what it has begun, on SIGTERM too",
    ),
    IgnoredOptions(r"statistics\.metrics\.enabled", "metrics are counted by batch where metrics.address asks for them"),
    IgnoredOptions(
        r"custom\.sanitize\.pattern",
        "values of options are never logged, and passwords never shown",
    ),
    IgnoredOptions(
        r"max\.queue\.size(\.in\.bytes)?|queue\.provider\.type",
        "there is no queue between reading and delivery; max.batch.size limits what is held",
    ),
    IgnoredOptions(r"internal\..+", "internal to Debezium"),
    IgnoredOptions(
        r"post\.processors",
        "post processors are Java classes, which cannot be loaded here: use transforms, or write one as a plugin",
        taken=(),
    ),
    IgnoredOptions(
        r"transaction\.metadata\.factory",
        "a Java class, which cannot be loaded here: provide.transaction.metadata gives Debezium's own metadata",
        taken=("io.debezium.pipeline.txmetadata.defaulttransactionmetadatafactory",),
    ),
)
"""A connector's own come before these: the first that matches an option counts."""
