"""The state store `sql`: the states of pipelines in tables of a MySQL or MariaDB database."""
