"""Registers the transforms and predicates, also by the class names of Debezium and Kafka Connect."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Registration, hookimpl
from cdckit_transforms import kafka_registrations


@hookimpl
def cdckit_transforms() -> Sequence[Registration]:
    """The transforms, one module each."""
    return [
        Registration(
            name="ActivateTracingSpan",
            factory="cdckit_transforms.activate_tracing_span:ActivateTracingSpan",
            config="cdckit_transforms.activate_tracing_span_config:ActivateTracingSpanConfig",
            summary="tells OpenTelemetry of events, behind the spans of the application that wrote the rows",
            extra="tracing",
            requires=("opentelemetry",),
            aliases=("io.debezium.transforms.tracing.ActivateTracingSpan",),
        ),
        Registration(
            name="ByLogicalTableRouter",
            factory="cdckit_transforms.by_logical_table_router:ByLogicalTableRouter",
            config="cdckit_transforms.by_logical_table_router:ByLogicalTableRouterConfig",
            summary="sends the events of many physical tables to one topic",
            aliases=("io.debezium.transforms.ByLogicalTableRouter",),
        ),
        Registration(
            name="ContentBasedRouter",
            factory="cdckit_transforms.content_based_router:ContentBasedRouter",
            config="cdckit_transforms.content_based_router:ContentBasedRouterConfig",
            summary="names topics by an expression of Groovy or JavaScript",
            aliases=("io.debezium.transforms.ContentBasedRouter",),
        ),
        Registration(
            name="EnforceRecordSize",
            factory="cdckit_transforms.enforce_record_size:EnforceRecordSize",
            config="cdckit_transforms.enforce_record_size:EnforceRecordSizeConfig",
            summary="cuts long texts and bytes, so that events stay small",
            aliases=("io.debezium.transforms.EnforceRecordSize",),
        ),
        Registration(
            name="EventRouter",
            factory="cdckit_transforms.event_router:EventRouter",
            config="cdckit_transforms.event_router_config:EventRouterConfig",
            summary="turns the rows of an outbox table into the events that they hold",
            aliases=("io.debezium.transforms.outbox.EventRouter",),
        ),
        Registration(
            name="ExtractChangedRecordState",
            factory="cdckit_transforms.extract_changed_record_state:ExtractChangedRecordState",
            config="cdckit_transforms.extract_changed_record_state:ExtractChangedRecordStateConfig",
            summary="tells in headers which fields an update changed",
            aliases=("io.debezium.transforms.ExtractChangedRecordState",),
        ),
        Registration(
            name="ExtractNewDocumentState",
            factory="cdckit_transforms.extract_new_document_state:ExtractNewDocumentState",
            config="cdckit_transforms.extract_new_document_state_config:ExtractNewDocumentStateConfig",
            summary="leaves of a MongoDB change event the document as it is after the change, with its types",
            aliases=("io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",),
        ),
        Registration(
            name="ExtractNewRecordState",
            factory="cdckit_transforms.extract_new_record_state:ExtractNewRecordState",
            config="cdckit_transforms.extract_new_record_state:ExtractNewRecordStateConfig",
            summary="leaves of a change event the row as it is after the change",
            aliases=("io.debezium.transforms.ExtractNewRecordState", "io.debezium.transforms.UnwrapFromEnvelope"),
        ),
        Registration(
            name="ExtractSchemaToNewRecord",
            factory="cdckit_transforms.extract_schema_to_new_record:ExtractSchemaToNewRecord",
            config="cdckit_transforms.extract_schema_to_new_record:ExtractSchemaToNewRecordConfig",
            summary="adds what the table's columns are to change events",
            aliases=("io.debezium.transforms.ExtractSchemaToNewRecord",),
        ),
        Registration(
            name="GeometryFormatTransformer",
            factory="cdckit_transforms.geometry_format_transformer:GeometryFormatTransformer",
            config="cdckit_transforms.geometry_format_transformer:GeometryFormatTransformerConfig",
            summary="makes EWKB of WKB geometries, and WKB of EWKB",
            aliases=("io.debezium.transforms.GeometryFormatTransformer",),
        ),
        Registration(
            name="HeaderToValue",
            factory="cdckit_transforms.header_to_value:HeaderToValue",
            config="cdckit_transforms.header_to_value:HeaderToValueConfig",
            summary="copies or moves headers into fields of the value",
            aliases=("io.debezium.transforms.HeaderToValue",),
        ),
        Registration(
            name="MongoEventRouter",
            factory="cdckit_transforms.mongo_event_router:MongoEventRouter",
            config="cdckit_transforms.mongo_event_router:MongoEventRouterConfig",
            summary="turns the documents of a MongoDB outbox collection into the events that they hold",
            aliases=("io.debezium.connector.mongodb.transforms.outbox.MongoEventRouter",),
        ),
        Registration(
            name="PartitionRouting",
            factory="cdckit_transforms.partition_routing:PartitionRouting",
            config="cdckit_transforms.partition_routing:PartitionRoutingConfig",
            summary="chooses the partition by fields of the event",
            aliases=("io.debezium.transforms.partitions.PartitionRouting",),
        ),
        Registration(
            name="ReadToInsertEvent",
            factory="cdckit_transforms.read_to_insert_event:ReadToInsertEvent",
            config="cdckit_transforms.read_to_insert_event:ReadToInsertEventConfig",
            summary="turns a snapshot's read events into inserts",
            aliases=(
                "io.debezium.connector.mysql.transforms.ReadToInsertEvent",
                "io.debezium.connector.mongodb.transforms.ReadToInsertEvent",
            ),
        ),
        Registration(
            name="RegexRouter",
            factory="cdckit_transforms.regex_router:RegexRouter",
            config="cdckit_transforms.regex_router:RegexRouterConfig",
            summary="renames topics by a regular expression",
            aliases=("org.apache.kafka.connect.transforms.RegexRouter",),
        ),
        Registration(
            name="SchemaChangeEventFilter",
            factory="cdckit_transforms.schema_change_event_filter:SchemaChangeEventFilter",
            config="cdckit_transforms.schema_change_event_filter:SchemaChangeEventFilterConfig",
            summary="drops schema changes of some types",
            aliases=("io.debezium.transforms.SchemaChangeEventFilter",),
        ),
        Registration(
            name="ScriptFilter",
            factory="cdckit_transforms.script_filter:ScriptFilter",
            config="cdckit_transforms.script_filter:ScriptFilterConfig",
            summary="keeps the records that a condition of Groovy or JavaScript is true for",
            aliases=("io.debezium.transforms.Filter",),
        ),
        Registration(
            name="SwapGeometryCoordinates",
            factory="cdckit_transforms.swap_geometry_coordinates:SwapGeometryCoordinates",
            config="cdckit_transforms.swap_geometry_coordinates:SwapGeometryCoordinatesConfig",
            summary="puts x and y of geometries in each other's place",
            aliases=("io.debezium.transforms.SwapGeometryCoordinates",),
        ),
        Registration(
            name="TimezoneConverter",
            factory="cdckit_transforms.timezone_converter:TimezoneConverter",
            config="cdckit_transforms.timezone_converter:TimezoneConverterConfig",
            summary="converts the moments of change events to another time zone",
            aliases=("io.debezium.transforms.TimezoneConverter",),
        ),
        Registration(
            name="ToLogicalTopicRouter",
            factory="cdckit_transforms.by_logical_table_router:ByLogicalTableRouter",
            config="cdckit_transforms.by_logical_table_router:ToLogicalTopicRouterConfig",
            summary="sends the events of many physical tables to one topic",
            aliases=("io.debezium.transforms.ToLogicalTopicRouter",),
        ),
        Registration(
            name="VectorToJsonConverter",
            factory="cdckit_transforms.vector_to_json_converter:VectorToJsonConverter",
            config="cdckit_transforms.vector_to_json_converter:VectorToJsonConverterConfig",
            summary="makes JSON of vectors",
            aliases=("io.debezium.transforms.VectorToJsonConverter",),
        ),
        *kafka_registrations.REGISTRATIONS,
    ]


@hookimpl
def cdckit_predicates() -> Sequence[Registration]:
    """The predicates, one module each."""
    return [
        Registration(
            name="HasHeaderKey",
            factory="cdckit_transforms.predicates.has_header_key:HasHeaderKey",
            config="cdckit_transforms.predicates.has_header_key:HasHeaderKeyConfig",
            summary="records that carry a header",
            aliases=("org.apache.kafka.connect.transforms.predicates.HasHeaderKey",),
        ),
        Registration(
            name="RecordIsTombstone",
            factory="cdckit_transforms.predicates.record_is_tombstone:RecordIsTombstone",
            config="cdckit_transforms.predicates.record_is_tombstone:RecordIsTombstoneConfig",
            summary="records without a value",
            aliases=("org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",),
        ),
        Registration(
            name="TopicNameMatches",
            factory="cdckit_transforms.predicates.topic_name_matches:TopicNameMatches",
            config="cdckit_transforms.predicates.topic_name_matches:TopicNameMatchesConfig",
            summary="records whose topic matches a regular expression",
            aliases=("org.apache.kafka.connect.transforms.predicates.TopicNameMatches",),
        ),
    ]
