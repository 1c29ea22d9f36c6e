"""The options `openlineage.integration.*`: whether and how OpenLineage is told what becomes of which tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from cdckit.api.places import LocalPath
from cdckit.api.source_config import SourceConfig
from cdckit.connector.options.pairs import PairsText, checked_by, parse_pairs

Pairs = Annotated[PairsText, checked_by(parse_pairs)]


class LineageOptions(SourceConfig):
    """What OpenLineage is told."""

    openlineage_integration_enabled: bool = False
    """Whether OpenLineage is told of the pipeline's runs, of the tables that it reads and of what it writes (extra
    `openlineage`).
    """
    openlineage_integration_config_file_path: LocalPath = "openlineage.yml"
    """The file of OpenLineage's client, whose `transport` says where events go: `http`, `kafka`, `file`, `console`."""
    openlineage_integration_job_namespace: str = ""
    """The job's namespace; by default `topic.prefix`. The job is called as that with `.0` behind it."""
    openlineage_integration_job_description: str = ""
    """The job's description; by default `change data capture of` and `topic.prefix`."""
    openlineage_integration_job_tags: Pairs = ""
    """The job's tags: `name=value` items with commas between."""
    openlineage_integration_job_owners: Pairs = ""
    """Who is responsible for the job: `name=role` items with commas between."""
    openlineage_integration_dataset_kafka_bootstrap_servers: str = ""
    """The broker that names the namespace of topics, `host:port`; by default the first that the sink `kafka` has."""

    @property
    def tags(self) -> Mapping[str, str]:
        """The job's tags."""
        return parse_pairs(self.openlineage_integration_job_tags)

    @property
    def owners(self) -> Mapping[str, str]:
        """Roles by owner."""
        return parse_pairs(self.openlineage_integration_job_owners)
