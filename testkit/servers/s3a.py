"""How a session of Spark reaches an object store that speaks S3."""

from __future__ import annotations

from testkit.servers.hadoop import hadoop_release
from testkit.servers.object_store import ObjectStore

_SDK = [
    f"software.amazon.awssdk:{name}:2.35.4"
    for name in ("s3", "s3-transfer-manager", "sts", "apache-client", "netty-nio-client")
]
_BROUGHT = "software.amazon.awssdk:bundle,org.slf4j:*,com.fasterxml.jackson.core:*,org.wildfly.openssl:*,io.netty:*"


def by_s3a(store: ObjectStore, secret: str) -> dict[str, str]:
    """The session's settings; of jars, those that Spark does not bring."""
    return {
        "spark.jars.packages": ",".join([f"org.apache.hadoop:hadoop-aws:{hadoop_release()}", *_SDK]),
        "spark.jars.excludes": _BROUGHT,
        "spark.hadoop.fs.s3a.endpoint": f"http://{store.endpoint}",
        "spark.hadoop.fs.s3a.endpoint.region": "us-east-1",
        "spark.hadoop.fs.s3a.access.key": "writer",
        "spark.hadoop.fs.s3a.secret.key": secret,
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }


def by_delta_rs(store: ObjectStore, secret: str) -> dict[str, str]:
    """The options by which delta-rs reaches it."""
    return {
        "AWS_ENDPOINT_URL": f"http://{store.endpoint}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "writer",
        "AWS_SECRET_ACCESS_KEY": secret,
    }
