"""OpenLineage's run events, as Debezium makes them (its documentation, "OpenLineage Integration")."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Literal

import attr
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    RunFacet,
    dataset_type_dataset,
    documentation_job,
    error_message_run,
    job_type_job,
    ownership_job,
    processing_engine_run,
    schema_dataset,
    tags_job,
)
from openlineage.client.uuid import generate_new_uuid

from cdckit.api.dataset import Dataset
from cdckit.api.notices import DefinedColumn
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.lineage.outputs import OutputField
from cdckit.engine.lineage.shown_options import shown_options

State = Literal["START", "RUNNING", "COMPLETE", "FAIL"]
_CONFIG_SCHEMA = (
    "https://github.com/debezium/debezium/tree/main/debezium-openlineage/src/main/java/io/debezium/openlineage/"
    "facets/spec/DebeziumRunFacet.json"
)


@attr.define
class ConfigRunFacet(RunFacet):
    """Debezium's own facet: the options of the connector.

    Attributes:
        configs: each as `name=value`.
    """

    configs: list[str]

    @staticmethod
    def _get_schema() -> str:
        return _CONFIG_SCHEMA


class RunEvents:
    """Makes the events of one run.

    Args:
        pipeline: whose run it is.

    Attributes:
        run_id: the run's.
    """

    def __init__(self, pipeline: ResolvedPipeline) -> None:
        options = pipeline.lineage
        assert options is not None
        self._pipeline = pipeline
        self._options = options
        self._version = version("cdckit")
        self._producer = f"https://github.com/cdckit/cdckit/v{self._version}"
        self._prefix = pipeline.source_config.logical_name or pipeline.name
        self._job = self._make_job()
        self.run_id = str(generate_new_uuid())

    def event(
        self,
        state: State,
        inputs: Mapping[str, Sequence[DefinedColumn]],
        outputs: Mapping[str, Sequence[OutputField]],
        error: BaseException | None = None,
    ) -> RunEvent:
        """One event.

        Args:
            state: what the run does.
            inputs: columns by table.
            outputs: fields by topic.
            error: what it ended by.
        """
        return RunEvent(
            eventType=RunState[state],
            eventTime=datetime.now(UTC).isoformat(),
            run=Run(self.run_id, facets=self._run_facets(error)),
            job=self._job,
            inputs=[self._input(name, columns) for name, columns in inputs.items()],
            outputs=list(self._outputs(outputs)),
            producer=self._producer,
        )

    def _make_job(self) -> Job:
        producer, options = self._producer, self._options
        said = options.openlineage_integration_job_description or f"change data capture of {self._prefix}"
        facets: dict[str, JobFacet] = {
            "documentation": documentation_job.DocumentationJobFacet(said, producer=producer),
            "jobType": job_type_job.JobTypeJobFacet("STREAMING", "DEBEZIUM", "TASK", producer=producer),
        }
        if owners := options.owners:
            found = [ownership_job.Owner(name, role) for name, role in owners.items()]
            facets["ownership"] = ownership_job.OwnershipJobFacet(found, producer=producer)
        if tags := options.tags:
            made = [tags_job.TagsJobFacetFields(key, value, "CONFIG") for key, value in tags.items()]
            facets["tags"] = tags_job.TagsJobFacet(made, producer=producer)
        namespace = options.openlineage_integration_job_namespace or self._prefix
        return Job(namespace, f"{self._prefix}.0", facets=facets)

    def _run_facets(self, error: BaseException | None) -> dict[str, RunFacet]:
        producer = self._producer
        facets: dict[str, RunFacet] = {
            "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
                self._version, "cdckit", version("openlineage-python"), producer=producer
            ),
            "debezium_config": ConfigRunFacet(shown_options(self._pipeline.source.config), producer=producer),
        }
        if error is not None:
            # Of errors below it the places alone: drivers' own words may hold what was logged in with.
            places = "".join(traceback.format_tb(error.__traceback__))
            said = str(error) or type(error).__name__
            facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(said, "Python", places, producer=producer)
        return facets

    def _input(self, name: str, columns: Sequence[DefinedColumn]) -> InputDataset:
        source = self._pipeline.source
        place = source.config.dataset(name) or Dataset(source.registration.name, name, "TABLE")
        fields = [schema_dataset.SchemaDatasetFacetFields(one.name, one.type_name, one.comment) for one in columns]
        return InputDataset(place.namespace, place.name, facets=self._facets(place, fields))

    def _outputs(self, outputs: Mapping[str, Sequence[OutputField]]) -> Iterable[OutputDataset]:
        """One a dataset; topics that are one dataset have the fields of the last."""
        made = {}
        for name, fields in outputs.items():
            place = self._output_place(name)
            facets = self._facets(place, list(map(_field, fields)))
            made[place] = OutputDataset(place.namespace, place.name, facets=facets)
        return made.values()

    def _output_place(self, name: str) -> Dataset:
        sink = self._pipeline.sink
        place = sink.config.dataset(name) or Dataset(sink.registration.name, name, "STREAM")
        broker = self._options.openlineage_integration_dataset_kafka_bootstrap_servers
        return place._replace(namespace=f"kafka://{broker}") if broker and place.kind == "STREAM" else place

    def _facets(self, place: Dataset, fields: list[schema_dataset.SchemaDatasetFacetFields]) -> dict[str, DatasetFacet]:
        kind = dataset_type_dataset.DatasetTypeDatasetFacet(place.kind, "", producer=self._producer)
        facets: dict[str, DatasetFacet] = {"datasetType": kind}
        if fields:
            facets["schema"] = schema_dataset.SchemaDatasetFacet(fields, producer=self._producer)
        return facets


def _field(field: OutputField) -> schema_dataset.SchemaDatasetFacetFields:
    members = [_field(each) for each in field.fields]
    return schema_dataset.SchemaDatasetFacetFields(field.name, field.type_name, field.doc, fields=members)
