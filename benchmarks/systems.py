"""The names of the systems in the tables."""

FILE = "direct to file"
FILE_SCHEMAS = "direct to file, with schemas"
KAFKA = "direct to Kafka"
SPARK_KAFKA = "Spark to Kafka"
SPARK_DELTA = "Spark to Delta"
PEER = "Debezium 3.6.3"
PEER_SCHEMAS = "Debezium 3.6.3, with schemas"
