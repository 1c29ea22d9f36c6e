"""The public face of cdckit: what the author of a plugin imports.

Beside it stand `cdckit.logical`, `cdckit.connector` (the kit for sources that capture a database), `cdckit.tables` (the
kit for sinks that keep tables), `cdckit.kafka` (clients of Kafka), `cdckit.java` (what Debezium's and Kafka's
options mean by Java: regular expressions, key stores), `cdckit.waiting` (waits that a stop ends) and `cdckit.testing`.
Everything else is the engine's own and may change with any release.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
