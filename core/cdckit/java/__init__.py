"""What Debezium's and Kafka's options mean by Java: its regular expressions, texts and key stores."""
