"""The kit for sources that capture a database.

Options that they share, names of topics, lists of tables, transactions, heartbeats, signals, incremental snapshots,
notifications, and what is taken over from Debezium. Nothing here knows the engine, and the engine knows no connector.
"""
