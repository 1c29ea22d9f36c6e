"""Configuration and usage: exit code 2."""

from __future__ import annotations

from cdckit.engine.numbers.entry import Entry

ENTRIES = (
    Entry(
        "CDC2000",
        "the configuration cannot work",
        "An option, or the combination of parts, cannot be; the message names the option.",
        "change what the message names; `cdc describe TYPE` has every option.",
    ),
    Entry(
        "CDC2001", "usage", "The command line has a word too many, too few, or a wrong one.", "`cdc COMMAND --help`."
    ),
    Entry(
        "CDC2101",
        "a file cannot be read",
        "The pipeline file is missing, empty, no UTF-8, or no YAML, JSON or properties; the message names line and "
        "column.",
        "correct the file.",
    ),
    Entry(
        "CDC2102",
        "the file is no pipeline",
        "It has neither `source` nor `connector.class`, or describes several connectors or Debezium Server.",
        "see the pages on the pipeline file, and on connectors' configurations.",
    ),
    Entry(
        "CDC2103",
        "a state would be left behind",
        "An earlier version kept the state in another folder, where it still is.",
        "move it, or name it by `state`, as the message says.",
    ),
    Entry("CDC2104", "--set is not understood", "It is `KEY=VALUE`, with the option's full name.", "correct it."),
    Entry(
        "CDC2201",
        "unknown option",
        "No such option exists; the message has the nearest name.",
        "correct the name; `cdc describe TYPE` lists what there is.",
    ),
    Entry("CDC2202", "a required option is missing", "The part cannot work without it.", "give it."),
    Entry(
        "CDC2203",
        "an option's value cannot be",
        "It is of another type, out of bounds, or given twice.",
        "give a value as the message says.",
    ),
    Entry(
        "CDC2204",
        "unknown type",
        "No source, sink, transform, serializer or state store of that name is installed.",
        "correct the name, or install the plugin: `cdc plugins` lists what there is.",
    ),
    Entry(
        "CDC2205",
        "an option is not supported here",
        "It is one of Debezium's or Kafka Connect's whose value would change what you get, and cannot be had.",
        "remove it, or do what the message says instead.",
    ),
    Entry(
        "CDC2206",
        "a variable has no value",
        "An environment variable or a secret's file that the pipeline file names is not there.",
        "set it, or give a default: `${NAME:-default}`.",
    ),
    Entry(
        "CDC2301",
        "a package is missing",
        "The part needs a package that is not installed.",
        "install the extra that the message names: `pip install 'cdckit[EXTRA]'`.",
    ),
    Entry(
        "CDC2302",
        "a plugin cannot be loaded",
        "Its module raises, registers something that is not there, or takes a name that is taken.",
        "correct or remove the plugin; `cdc plugins` shows what is wrong.",
    ),
    Entry(
        "CDC2303",
        "a plugin is made for another version",
        "It needs another version of the plugin API.",
        "upgrade the plugin, or cdckit, as the message says.",
    ),
    Entry(
        "CDC2304", "no Java", "Spark needs Java 17 or newer.", "install it, set `JAVA_HOME`, or use `runner: direct`."
    ),
    Entry(
        "CDC2305",
        "no Delta Lake in the session",
        "The Spark session that is there has no Delta Lake.",
        "start it with Delta's jars and `spark.sql.extensions`, as the message says.",
    ),
    Entry("CDC2306", "Spark does not start", "The session cannot be made.", "the lines above the error say why."),
    Entry(
        "CDC2307",
        "Spark is too old",
        "The PySpark that is installed is older than 4.0, the first whose Python data sources stream packets.",
        "use a release from 4.0 on, or `runner: direct`.",
    ),
    Entry(
        "CDC2401",
        "the sink keeps Spark tables",
        "It works on the runner `spark` alone, and takes no single records.",
        "set `runner: spark`, or name another sink.",
    ),
    Entry(
        "CDC2402",
        "the parts do not go together",
        "Runner, source, sink and options are each right, and cannot be together.",
        "change one of them, as the message says.",
    ),
    Entry(
        "CDC2501",
        "the state was made for another source or target",
        "The saved offset says how far the changes of one source have come to one target; with another one, what came "
        "before would be missing.",
        "`cdc offsets reset FILE` begins anew, another `name` or `state` does so beside it, `cdc offsets keep FILE` "
        "goes on "
        "all the same.",
    ),
    Entry(
        "CDC2502",
        "a table that was asked for is not captured",
        "`cdc resnapshot`, `cdc diff` and the data source's `table` know captured tables alone.",
        "correct the name, or the include lists.",
    ),
    Entry(
        "CDC2503",
        "no table can be read again, or known",
        "The source has only a log: it knows neither its tables' rows nor their columns.",
        "see the message.",
    ),
    Entry(
        "CDC2504",
        "the signal cannot be sent",
        "There is no such signal, its data is wrong, or the pipeline takes none.",
        "see the page on signals.",
    ),
    Entry(
        "CDC2505",
        "the offset is none",
        "It is no JSON object, none of this source, or no place where a reading can begin or end.",
        "`cdc offsets show` prints one.",
    ),
    Entry(
        "CDC2506",
        "cases or samples cannot be used",
        "A case of `cdc test` or a sample lacks what it needs.",
        "see the page on trying and testing chains.",
    ),
    Entry(
        "CDC2507",
        "the quarantine has no such records",
        "The pipeline has no quarantine, or none of the records that were asked for.",
        "`cdc quarantine list FILE`.",
    ),
    Entry(
        "CDC2508",
        "the plugin cannot be made or checked",
        "Its name or folder cannot be, or it cannot be installed.",
        "see the message.",
    ),
    Entry(
        "CDC2509",
        "a first file cannot be written",
        "`cdc init` lacks an answer, was given a secret where a variable belongs, or the file is there already.",
        "give the option that the message names, or let it ask on a terminal.",
    ),
    Entry(
        "CDC2601",
        "a certificate or key cannot be read",
        "The file is missing, no PEM or PKCS12, or its password is another.",
        "convert it, as the message says.",
    ),
    Entry(
        "CDC2602",
        "the address of the metrics is taken",
        "Another process listens at `metrics.address`, or the address is not this machine's.",
        "name a free port, or port 0.",
    ),
    Entry(
        "CDC2603",
        "more tables than allowed",
        "`guardrail.collections.max` is exceeded.",
        "raise it, or capture fewer tables.",
    ),
    Entry(
        "CDC2604",
        "two tables share a topic",
        "Their names become the same topic, so that their records would be mixed.",
        "rename one by a router, or leave one out.",
    ),
    Entry(
        "CDC2605",
        "the page cannot be served",
        "`cdc ui` needs a token where other machines reach it or it may act, or it cannot listen at its address.",
        "give the token by CDC_UI_TOKEN or --token-file, or name a free port of this machine.",
    ),
    Entry(
        "CDC2606",
        "the page cannot have that done",
        "The pipeline is in a state in which it cannot be, or what was asked makes no sense.",
        "see the message; the command of the same name does it by hand.",
    ),
    Entry(
        "CDC2607",
        "OpenLineage cannot be told",
        "The file of `openlineage.integration.config.file.path` is not there, or OpenLineage's client does not take "
        "what it says.",
        "correct the path or the file, whose `transport` says where events go.",
    ),
)
