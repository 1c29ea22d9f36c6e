"""The names of the systems in the tables, and of the scenarios that have a server of their own."""

FILE = "direct to file"
FILE_SCHEMAS = "direct to file, with schemas"
FILE_METRICS = "direct to file, metrics on"
KAFKA = "direct to Kafka"
SPARK_KAFKA = "Spark to Kafka"
SPARK_DELTA = "Spark to Delta"
PEER = "Debezium 3.6.3"
PEER_SCHEMAS = "Debezium 3.6.3, with schemas"

MONGODB_SNAPSHOT = "MongoDB, snapshot"
MONGODB_STREAM = "MongoDB, stream"
