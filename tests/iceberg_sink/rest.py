"""A catalog behind REST: Iceberg's own, in a web server of Java's on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from pages.java import java_with
from testkit.servers.downstream import iceberg_rest_jars


@contextmanager
def rest_catalog(folder: Path) -> Iterator[str]:
    """Its address.

    Args:
        folder: has its database and its tables.
    """
    with java_with(iceberg_rest_jars(), Path(pyspark.__file__).parent / "jars") as java:
        iceberg, jetty = java.jvm.org.apache.iceberg, java.jvm.org.eclipse.jetty
        catalog = iceberg.jdbc.JdbcCatalog()
        catalog.setConf(java.jvm.org.apache.hadoop.conf.Configuration())
        properties = java.jvm.java.util.HashMap()
        properties["uri"] = f"jdbc:sqlite:{folder}/rest.db"
        properties["warehouse"] = f"file://{folder}/lake"
        catalog.initialize("rest", properties)
        servlet = iceberg.rest.RESTCatalogServlet(iceberg.rest.RESTCatalogAdapter(catalog))
        handler = jetty.servlet.ServletContextHandler()
        handler.addServlet(jetty.servlet.ServletHolder(servlet), "/*")
        server = jetty.server.Server(java.jvm.java.net.InetSocketAddress("127.0.0.1", 0))
        server.setHandler(handler)
        server.start()
        yield f"http://127.0.0.1:{server.getURI().getPort()}"
        server.stop()
