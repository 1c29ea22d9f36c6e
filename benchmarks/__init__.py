"""How fast cdckit is: the same work for cdckit and, where its wheel is installed, for Debezium."""
