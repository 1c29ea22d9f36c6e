"""The MySQL and MariaDB source: binlog, snapshot, DDL, types."""
