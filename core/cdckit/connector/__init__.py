"""The kit for sources that capture a database.

A source begins with three classes: its options subclass `options.connector.ConnectorOptions`, its offsets
`offset.ConnectorOffset`, and itself `source.ConnectorSource`, which decides when the database is asked and read. Where
the log tells of rows, `table_events.TableEvents` makes their records. Beside these: names of topics, lists of tables,
transactions, heartbeats, signals, incremental snapshots, notifications, and what is taken over from Debezium. Where an
SQL database gives the rows of its log behind a number, `row_log` puts all of that together. Nothing here knows the
engine, and the engine knows no connector.
"""
