"""The state: exit code 7. And what is unexpected: exit code 1."""

from __future__ import annotations

from cdckit.engine.numbers.entry import Entry

STATE = (
    Entry(
        "CDC7000", "the state cannot be read or written", "Nothing is saved beyond the last save.", "read the message."
    ),
    Entry(
        "CDC7001",
        "the state is held by another process",
        "Two pipelines on one state would lose changes.",
        "stop the other one, or give this one a name of its own.",
    ),
    Entry("CDC7101", "the state file fails", "Disk, rights or damage.", "see the message; restore it from a copy."),
    Entry(
        "CDC7102",
        "the status file cannot be read",
        "Another version wrote it, or it is damaged.",
        "the next run writes it anew.",
    ),
    Entry("CDC7103", "the quarantine fails", "It cannot be written.", "make room, or give the right to write."),
    Entry(
        "CDC7104",
        "sink and state disagree",
        "The offset that the sink keeps was lost, or is another one than the state's.",
        "`cdc offsets keep FILE` goes on from the state's.",
    ),
    Entry("CDC7105", "copies of the state fail", "They cannot be made or read at `checkpoint`.", "see the message."),
    Entry(
        "CDC7106",
        "what the state keeps is damaged",
        "It was changed by others.",
        "restore it from a copy, or start anew.",
    ),
    Entry(
        "CDC7107",
        "Spark's checkpoint cannot be read",
        "Files are missing or damaged.",
        "restore it, or `cdc offsets set`.",
    ),
    Entry(
        "CDC7108", "the offset is another source's", "It has other members.", "`cdc offsets show`, `cdc offsets reset`."
    ),
    Entry(
        "CDC7109",
        "the ledger beside Spark's checkpoint fails",
        "It cannot be written or read, or a batch was written whose sums did not come.",
        "see the message; without the folder it begins anew (`cdc resnapshot`).",
    ),
    Entry(
        "CDC7110",
        "the other runner has begun a batch of tables",
        "It was killed, or stopped by an error; some tables may have that batch.",
        "let that runner finish it: `cdc run FILE --once` with its `runner`, then change.",
    ),
    Entry(
        "CDC7111",
        "Spark's checkpoint cannot be moved",
        "`checkpoint` is another one, behind a batch of tables that was not finished.",
        "let both places be reached, or set `checkpoint` back.",
    ),
    Entry(
        "CDC7201",
        "the schema history knows nothing here",
        "The state is incomplete.",
        "`cdc run FILE --set source.snapshot.mode=recovery`, or a new state.",
    ),
    Entry("CDC7202", "the schema history is damaged", "It cannot be read.", "restore it from a copy, or start anew."),
    Entry("CDC7203", "the topic of the schema history fails", "It cannot be had or written.", "see the message."),
    Entry("CDC7301", "the state store is away or refuses", "A save did not succeed.", "see the message."),
    Entry("CDC7302", "the hold on the state was lost", "Nothing more is saved.", "start the pipeline again."),
    Entry(
        "CDC7303",
        "the state has another format",
        "Another version of cdckit made it.",
        "run that version, or use other keys.",
    ),
    Entry(
        "CDC7304",
        "the object store knows no conditions",
        "Two pipelines could save in one state.",
        "use another store.",
    ),
    Entry(
        "CDC7305",
        "the topic of the state deletes messages",
        "And the state with them.",
        "set its `cleanup.policy` to compact.",
    ),
    Entry(
        "CDC7401", "there is an offset already", "An import would replace it.", "`cdc offsets reset FILE` forgets it."
    ),
    Entry("CDC7402", "there is no offset", "The pipeline has never saved one.", "run it first."),
    Entry("CDC7403", "Debezium's files cannot be taken over", "They are no offsets or history.", "see the message."),
)

UNEXPECTED = (
    Entry(
        "CDC9000",
        "unexpected",
        "A fault that nobody has foreseen: most likely one of cdckit's.",
        "`--debug` shows where it was raised; tell us.",
    ),
    Entry("CDC9001", "asked to stop", "The pipeline was asked to stop while it waited.", "nothing."),
    Entry("CDC9002", "unexpected, in a plugin", "The message names the plugin.", "tell its authors."),
)
