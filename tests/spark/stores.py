"""How Spark reaches an object store that speaks S3."""

from __future__ import annotations

from spark.conftest import FAST_JVM
from testkit.servers.object_store import ObjectStore

S3A = [
    "org.apache.hadoop:hadoop-aws:3.5.0",
    *(f"software.amazon.awssdk:{name}:2.35.4"
      for name in ("s3", "s3-transfer-manager", "sts", "apache-client", "netty-nio-client")),
]  # fmt: skip
BROUGHT = "software.amazon.awssdk:bundle,org.slf4j:*,com.fasterxml.jackson.core:*,org.wildfly.openssl:*,io.netty:*"


def by_s3a(store: ObjectStore, secret: str) -> dict[str, str]:
    """Settings of a session on this machine that reaches a store."""
    return {
        "master": "local[2]",
        **FAST_JVM,
        "spark.jars.packages": ",".join(S3A),
        "spark.jars.excludes": BROUGHT,
        "spark.hadoop.fs.s3a.endpoint": f"http://{store.endpoint}",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.access.key": "writer",
        "spark.hadoop.fs.s3a.secret.key": secret,
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }
