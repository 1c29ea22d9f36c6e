"""The options of the `mongodb` source, by Debezium's names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import model_validator

from cdckit import Dataset, IgnoredOptions, Offset
from cdckit.connector.options.capture import capture_lists
from cdckit.connector.options.connector import ConnectorOptions
from cdckit.connector.options.every_connector import peer_options
from cdckit_mongodb.options.capture import CaptureOptions
from cdckit_mongodb.options.connection import ConnectionOptions, authority
from cdckit_mongodb.options.events import FormatOptions, ProcessingOptions, TopicOptions
from cdckit_mongodb.options.ignored_options import IGNORED_OPTIONS
from cdckit_mongodb.options.snapshot import SnapshotOptions
from cdckit_mongodb.options.stream import StreamOptions


class MongoDbConfig(
    ConnectorOptions,
    # the last comes first in the tables of options
    ProcessingOptions,
    TopicOptions,
    FormatOptions,
    SnapshotOptions,
    CaptureOptions,
    StreamOptions,
    ConnectionOptions,
):
    """Options of the `mongodb` source."""

    connector: ClassVar[str] = "mongodb"
    identifying: ClassVar[tuple[str, ...]] = ("topic_prefix", "capture_scope", "capture_target")
    asked: ClassVar[tuple[str, ...]] = ("mongodb_connection_string",)
    choosing: ClassVar[tuple[str, ...]] = (*capture_lists("database", "collection"), "filters_match_mode")
    renamed: ClassVar[Mapping[str, str]] = {
        "mongodb.name": "topic.prefix",
        "database.whitelist": "database.include.list",
        "database.blacklist": "database.exclude.list",
        "collection.whitelist": "collection.include.list",
        "collection.blacklist": "collection.exclude.list",
        "field.blacklist": "field.exclude.list",
        "initial.sync.max.threads": "snapshot.max.threads",
        "internal.legacy.snapshot.max.threads": "legacy.snapshot.max.threads",
    }
    stand_ins: ClassVar[Mapping[str, str]] = {
        "errors.retry.delay.initial.ms": "connect.backoff.initial.delay.ms",
        "errors.retry.delay.max.ms": "connect.backoff.max.delay.ms",
    }
    ignored_options: ClassVar[tuple[IgnoredOptions, ...]] = IGNORED_OPTIONS
    peer_options: ClassVar[Mapping[str, str]] = peer_options("cdckit_mongodb")

    @classmethod
    def advice(cls, given: Mapping[str, str]) -> list[str]:
        """A target alone narrows nothing."""
        said = super().advice(given)
        if "capture.target" in given and "capture.scope" not in given:
            said.append("capture.target means nothing without capture.scope=database or collection")
        return said

    @model_validator(mode="after")
    def _one_stream_for_transactions(self) -> Self:
        if self.capture_collection_groups and self.provide_transaction_metadata:
            raise ValueError(
                "provide.transaction.metadata and capture.collection.groups exclude each other: begin, end and order "
                "of a transaction can be told only where one stream shows all of it"
            )
        return self

    @model_validator(mode="after")
    def _signals(self) -> Self:
        if not self.signal_data_collection:
            return self
        database = self.signal_data_collection.partition(".")[0]
        if self.capture_scope == "collection" and self.signal_data_collection != self.capture_target:
            raise ValueError("with capture.scope=collection the stream does not see signal.data.collection; widen it")
        if self.capture_scope == "database" and database != self.capture_target:
            raise ValueError("signal.data.collection should be in the database of capture.target, which alone is seen")
        return self

    @property
    def skipped(self) -> frozenset[str]:
        """The operations that make no record: Debezium leaves them out by its own stages alone."""
        return frozenset() if self.cursor_pipeline_order == "user_only" else super().skipped

    @property
    def changes_left_out(self) -> str | None:
        """Stages of one's own may choose events, and documents that are too large may be passed over."""
        if self.cursor_pipeline:
            return "source.cursor.pipeline may leave changes out"
        if self.cursor_oversize_handling_mode == "skip":
            return "source.cursor.oversize.handling.mode=skip leaves changes out that are too large"
        return None

    @property
    def snapshot_overlaps(self) -> bool:
        """Documents are read behind the moment that the stream is followed from."""
        return True

    @property
    def no_sums(self) -> str | None:
        """A change has to show the document as it was before and behind it, and the stream all changes."""
        if not self.asks_for_pre_images or not self.asks_for_post_images:
            return (
                "needs each change with the document before and behind it: set source.capture.mode to "
                "change_streams_update_full_with_pre_image, source.capture.mode.full.update.type to post_image, and "
                "changeStreamPreAndPostImages on the collections"
            )
        return self.changes_left_out

    def dataset(self, name: str) -> Dataset:
        """A collection of the deployment, whose name is the connection string without user, password and options."""
        uri = self.mongodb_connection_string.get_secret_value()
        scheme, _, _ = uri.partition("://")
        hosts = authority(uri).rpartition("@")[2] if uri else self.mongodb_hosts.rpartition("/")[2]
        return Dataset(f"{scheme or 'mongodb'}://{hosts}", name, "TABLE")

    def whole(self, tables: Sequence[str]) -> Self:
        """Also without filters that choose documents or changes, in one stream."""
        update = {
            "cursor_pipeline": [],
            "cursor_pipeline_order": "internal_first",
            "snapshot_collection_filter_overrides": "",
            "snapshot_filters": {},
            "filters_match_mode": "regex" if tables else self.filters_match_mode,
            "capture_collection_groups": [],
        }
        return super().whole(tables).model_copy(update=update)

    @property
    def looks_up_rows(self) -> bool:
        """The server looks documents up for updates; and images after them need not be kept."""
        return True

    def ends_exactly(self, offset: Offset) -> bool:
        """Between two moments of the cluster, or behind an event, which then is not known to be one of several."""
        return self.partial_updates is None and not offset.get("initsync")

    def rows_with(self, keys: Sequence[Mapping[str, Any]]) -> str:
        """As a query document; a record's key holds the `_id` as a JSON text."""
        return f'{{"_id": {{"$in": [{", ".join(str(key["id"]) for key in keys)}]}}}}'

    def rows_left_out(self, table: str) -> str | None:
        """Also where a filter chooses the snapshot's documents."""
        if f"snapshot.collection.filter.overrides.{table}" in self.snapshot_filters:
            return "a filter chooses which documents the snapshot reads, so that others may be missing"
        return super().rows_left_out(table)
