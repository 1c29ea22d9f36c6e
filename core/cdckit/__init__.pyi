"""The names of the public face, by the modules that define them."""

from .api.api_version import API_VERSION as API_VERSION
from .api.batch import Batch as Batch
from .api.begun import BegunPlaces as BegunPlaces
from .api.checks import (
    Checks as Checks,
    Finding as Finding,
    PositionChecks as PositionChecks,
    TopicChecks as TopicChecks,
    Unmatched as Unmatched,
    unmatched_findings as unmatched_findings,
    why_unwritable as why_unwritable,
)
from .api.dataset import Dataset as Dataset, DatasetKind as DatasetKind, dataset_below as dataset_below
from .api.event_traits import EventTraits as EventTraits
from .api.group import Group as Group
from .api.held import (
    Barrier as Barrier,
    Hashing as Hashing,
    HeldMessage as HeldMessage,
    HeldMessages as HeldMessages,
    Image as Image,
    ImageColumns as ImageColumns,
    ImageHashes as ImageHashes,
    ImageMaker as ImageMaker,
    Images as Images,
    Shown as Shown,
)
from .api.hookspecs import (
    ColumnConverter as ColumnConverter,
    ColumnDescription as ColumnDescription,
    Registration as Registration,
    hookimpl as hookimpl,
    hookspec as hookspec,
)
from .api.ignored_options import IgnoredOptions as IgnoredOptions
from .api.lists import NameList as NameList, RegexList as RegexList, patterns as patterns, split_names as split_names
from .api.marks import (
    DefinitionChange as DefinitionChange,
    MarkKind as MarkKind,
    RoutedMark as RoutedMark,
    TableExample as TableExample,
    TableMark as TableMark,
)
from .api.messages import EncodedHeaders as EncodedHeaders, Form as Form, Messages as Messages
from .api.names_text import names_in as names_in, names_text as names_text, some_names as some_names
from .api.notices import UNHEARD as UNHEARD, DefinedColumn as DefinedColumn, Notice as Notice, Notices as Notices
from .api.places import ClientFiles as ClientFiles, FolderUrl as FolderUrl, LocalPath as LocalPath, Located as Located
from .api.plugin_config import PluginConfig as PluginConfig, did_you_mean as did_you_mean
from .api.record import (
    LANE_END as LANE_END,
    POSITION_HEADER as POSITION_HEADER,
    UNAVAILABLE_HEADER as UNAVAILABLE_HEADER,
    Datum as Datum,
    Header as Header,
    Offset as Offset,
    Record as Record,
    SchemaAndValue as SchemaAndValue,
    lane_of as lane_of,
)
from .api.retention import Retention as Retention, RetentionChecks as RetentionChecks
from .api.retry_schedule import RetrySchedule as RetrySchedule
from .api.schema import (
    BOOLEAN as BOOLEAN,
    BYTES as BYTES,
    FLOAT32 as FLOAT32,
    FLOAT64 as FLOAT64,
    INT16 as INT16,
    INT32 as INT32,
    INT64 as INT64,
    OPTIONAL_BOOLEAN as OPTIONAL_BOOLEAN,
    OPTIONAL_BYTES as OPTIONAL_BYTES,
    OPTIONAL_INT32 as OPTIONAL_INT32,
    OPTIONAL_INT64 as OPTIONAL_INT64,
    OPTIONAL_STRING as OPTIONAL_STRING,
    STRING as STRING,
    Field as Field,
    Schema as Schema,
    Stored as Stored,
    Type as Type,
    array_schema as array_schema,
    struct_schema as struct_schema,
)
from .api.serializer import Serializer as Serializer
from .api.sink import (
    QueueFill as QueueFill,
    Sink as Sink,
    SinkContext as SinkContext,
    TableSink as TableSink,
    Transactions as Transactions,
)
from .api.snapshotting import (
    PlainMode as PlainMode,
    SnapshotLock as SnapshotLock,
    SnapshotMode as SnapshotMode,
    SnapshotQuery as SnapshotQuery,
)
from .api.source import (
    Source as Source,
    SourceContext as SourceContext,
    Split as Split,
)
from .api.source_config import SourceConfig as SourceConfig
from .api.source_counts import SourceCounts as SourceCounts
from .api.state_store import (
    HistoryEntry as HistoryEntry,
    HistorySize as HistorySize,
    StateBackend as StateBackend,
    StateStore as StateStore,
    StateView as StateView,
)
from .api.struct import (
    Path as Path,
    Struct as Struct,
    Template as Template,
    TemplateStruct as TemplateStruct,
    filled as filled,
    plain as plain,
)
from .api.takeover import ConnectOffset as ConnectOffset, HistoryRecord as HistoryRecord
from .api.transform import Predicate as Predicate, Sought as Sought, Transform as Transform
from .api.undecoded import Undecoded as Undecoded
from .errors import (
    CdcError as CdcError,
    ConfigError as ConfigError,
    DecodeError as DecodeError,
    Problem as Problem,
    RetriableSinkError as RetriableSinkError,
    RetriableSourceError as RetriableSourceError,
    RowsRefusedError as RowsRefusedError,
    SinkError as SinkError,
    SnapshotDueError as SnapshotDueError,
    SourceError as SourceError,
    StateError as StateError,
    StateHeldError as StateHeldError,
    StoppedError as StoppedError,
    TransformError as TransformError,
)
