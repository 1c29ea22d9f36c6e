"""Each check of the suites has a twin that it finds: a component with one fault. The sound one passes."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from authoring import state_twins, twins
from cdckit.api.hookspecs import Registration, hookimpl
from cdckit.api.plugins import plugin_manager
from cdckit.api.record import Record, SchemaAndValue
from cdckit.api.transform import Predicate, Transform
from cdckit.testing import (
    ComponentSuite,
    Delivered,
    PredicateSuite,
    SerializerSuite,
    SinkSuite,
    SourceSuite,
    StateStoreSuite,
    TransformSuite,
)

JSON = "cdckit.engine.serializers.json_config:JsonConfig"
CONFIGS = {
    "Transform": "authoring.twins:Nothing",
    "Predicate": "authoring.twins:Nothing",
    "JsonSerializer": JSON,
    "FileSink": "cdckit_file.config:FileConfig",
    "Source": "authoring.twins:LinesConfig",
    "StateBackend": "cdckit.engine.state.file_config:FileStateConfig",
}
FAULTY_CONFIGS = {"Silent", "Lenient", "Unsent"}


def _registered(base: str, kind: type) -> list[Registration]:
    classes = [
        one
        for module in (twins, state_twins)
        for one in vars(module).values()
        if inspect.isclass(one) and one.__module__ == module.__name__
    ]
    return [
        Registration(one.__name__, f"{one.__module__}:{one.__name__}", CONFIGS[base], "a twin")
        for one in classes
        if issubclass(one, kind)
    ]


class _Twins:
    """Registers them all."""

    @hookimpl
    def cdckit_transforms(self) -> Sequence[Registration]:
        factory = "authoring.twins:SoundTransform"
        faulty = [Registration(name, factory, f"authoring.twins:{name}", "a twin") for name in FAULTY_CONFIGS]
        return [*_registered("Transform", Transform), *faulty, Registration("Unnamed", factory, JSON, "")]

    @hookimpl
    def cdckit_predicates(self) -> Sequence[Registration]:
        return _registered("Predicate", Predicate)

    @hookimpl
    def cdckit_serializers(self) -> Sequence[Registration]:
        return _registered("JsonSerializer", twins.SoundSerializer)

    @hookimpl
    def cdckit_sinks(self) -> Sequence[Registration]:
        return _registered("FileSink", twins.SoundSink)

    @hookimpl
    def cdckit_sources(self) -> Sequence[Registration]:
        return _registered("Source", twins.SoundSource)

    @hookimpl
    def cdckit_state_stores(self) -> Sequence[Registration]:
        return _registered("StateBackend", state_twins.SoundBackend)


@pytest.fixture(autouse=True)
def _installed() -> Iterator[None]:
    them = _Twins()
    plugin_manager().register(them, name="twins")
    yield
    plugin_manager().unregister(them)


class OfTransforms(TransformSuite):
    type_name = "SoundTransform"


class OfPredicates(PredicateSuite):
    type_name = "SoundPredicate"


class OfSerializers(SerializerSuite):
    type_name = "SoundSerializer"


class OfSinks(SinkSuite):
    type_name = "SoundSink"
    path: Path

    def options(self) -> Mapping[str, Any]:
        return {"path": str(self.path / "out.jsonl")}

    def delivered(self) -> Sequence[Delivered]:
        out = self.path / "out.jsonl"
        lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        return [Delivered(line["topic"], line["key"], line["value"]) for line in lines]


class OfSources(SourceSuite):
    type_name = "SoundSource"
    path: Path

    def options(self) -> Mapping[str, Any]:
        lines = self.path / "lines"
        lines.touch()
        return {"path": str(lines)}

    def change(self, tokens: Sequence[int]) -> None:
        with (self.path / "lines").open("a") as file:
            file.writelines(f"{token}\n" for token in tokens)

    def token(self, record: Record) -> int | None:
        assert isinstance(record.value, SchemaAndValue)
        token: int = record.value.value
        return token


class OfStateStores(StateStoreSuite):
    type_name = "SoundBackend"
    kills = 1
    release_seconds = 5.0
    path: Path

    def options(self) -> Mapping[str, Any]:
        return {"path": str(self.path / "states")}


TWINS: list[tuple[type[ComponentSuite], str, str]] = [
    (OfTransforms, "test_it_is_found_by_its_name_and_its_aliases", "Unnamed"),
    (OfTransforms, "test_every_option_says_what_it_is_for", "Silent"),
    (OfTransforms, "test_a_misspelt_option_is_refused_by_name", "Lenient"),
    (OfTransforms, "test_its_config_can_be_sent_to_another_process", "Unsent"),
    (OfTransforms, "test_the_records_given_are_not_changed", "ChangesWhatItIsGiven"),
    (OfTransforms, "check_restart", "GoesByHashes"),
    (OfTransforms, "check_speed", "Tires"),
    (OfTransforms, "test_what_it_makes_can_be_written", "NamesNoTopic"),
    (OfTransforms, "test_positions_stay", "MovesPositions"),
    (OfTransforms, "test_it_remembers_nothing_that_a_restart_would_lose", "Counts"),
    (OfTransforms, "test_the_same_record_becomes_the_same_again", "Counts"),
    (OfTransforms, "test_envelopes_of_a_template_are_read_as_plain_ones_are", "KnowsNoTemplates"),
    (OfTransforms, "test_what_becomes_of_a_group_is_what_becomes_of_each", "TellsGroupsOtherwise"),
    (OfTransforms, "test_it_can_be_closed_twice", "ClosesOnce"),
    (OfPredicates, "test_its_answers_are_true_and_false_themselves", "AnswersByNumbers"),
    (OfPredicates, "test_it_tells_records_apart", "MeansAll"),
    (OfPredicates, "test_a_record_has_the_same_answer_alone_among_others_and_again", "MeansEveryOther"),
    (OfPredicates, "test_envelopes_of_a_template_are_read_as_plain_ones_are", "MeansTemplates"),
    (OfPredicates, "test_it_says_from_the_beginning_whether_it_looks_for_topics", "SeeksLater"),
    (OfSerializers, "test_each_record_has_its_key_its_value_and_its_headers", "LosesOne"),
    (OfSerializers, "test_what_is_not_there_is_none", "WritesTombstones"),
    (OfSerializers, "test_its_bytes_are_of_the_form_that_it_says", "WritesNoJson"),
    (OfSerializers, "test_a_record_is_written_alike_alone_among_others_and_again", "NumbersValues"),
    (OfSerializers, "test_a_part_that_is_asked_for_alone_is_that_of_the_whole", "KnowsTheWholeAlone"),
    (OfSerializers, "test_other_keys_are_written_otherwise", "HasOneKey"),
    (OfSerializers, "test_envelopes_of_a_template_are_written_as_plain_ones_are", "WritesNoTemplates"),
    (OfSinks, "test_what_was_flushed_is_delivered_in_the_order_of_each_key", "WritesBackwards"),
    (OfSinks, "test_tombstones_are_delivered", "DropsTombstones"),
    (OfSinks, "test_texts_of_any_length_and_script_stay_what_they_are", "DropsLongOnes"),
    (OfSinks, "test_a_second_run_goes_on_after_the_first", "BeginsAnew"),
    (OfSinks, "test_nothing_can_be_written_and_flushed", "WantsSomething"),
    (OfSinks, "test_what_was_flushed_survives_a_kill", "FlushesAtTheEnd"),
    (OfSinks, "test_it_can_be_closed_twice_and_without_having_been_opened", "WantsToBeOpen"),
    (OfSinks, "check_speed", "TiresOfWriting"),
    (OfSources, "test_changes_before_and_after_the_start_all_come", "LosesTheFirst"),
    (OfSources, "test_offsets_are_json", "HasNoJsonOffset"),
    (OfSources, "test_nothing_lies_between_an_offset_and_itself", "PlansNothingness"),
    (OfSources, "test_the_log_ends_where_it_ended_while_nothing_changes", "EndsElsewhere"),
    (OfSources, "test_positions_are_unique_and_sort_in_commit_order", "HasOnePosition"),
    (OfSources, "test_a_range_read_again_gives_the_same_again", "ReadsTooFar"),
    (OfSources, "test_reading_goes_on_from_every_offset_that_a_batch_gave", "OffersAnEarlierOffset"),
    (OfSources, "test_a_range_can_be_shared_out_among_processes", "KeepsSplits"),
    (OfSources, "test_an_open_end_gives_empty_batches_and_stops_when_asked", "HasNoOpenEnd"),
    (OfSources, "test_a_killed_process_is_gone_on_from", "SavesTooEarly"),
    (OfSources, "test_it_can_be_closed_twice_and_without_having_been_opened", "ClosesOnceOnly"),
    (OfSources, "check_speed", "LosesTheFirst"),
    (OfStateStores, "test_an_offset_is_there_for_the_next_run_until_it_is_forgotten", "ForgetsNoOffset"),
    (OfStateStores, "test_a_history_is_read_in_order_of_position", "ReadsToTheEnd"),
    (OfStateStores, "test_positions_sort_as_texts_do", "SortsWithoutCase"),
    (OfStateStores, "test_an_entry_at_a_known_position_replaces_what_was_there", "KeepsTheFirst"),
    (OfStateStores, "test_a_history_can_be_replaced_and_others_stay", "AddsInReplacing"),
    (OfStateStores, "test_values_are_kept_by_key_until_they_are_removed", "KnowsNoCase"),
    (OfStateStores, "test_what_json_can_say_stays_what_it_is", "KnowsOneKindOfNumber"),
    (OfStateStores, "test_large_values_and_long_histories_are_kept", "CutsLongTexts"),
    (OfStateStores, "test_changes_grow_with_each_save_and_by_nothing_else", "CountsLooks"),
    (OfStateStores, "test_it_may_be_used_by_another_thread_than_it_was_opened_by", "IsOfOneThread"),
    (OfStateStores, "test_one_at_a_time_holds_it", "IsHeldByMany"),
    (OfStateStores, "test_each_pipeline_has_a_state_of_its_own", "HasOneStateForAll"),
    (OfStateStores, "test_a_look_at_a_state_that_is_not_there_finds_nothing", "MakesInLooking"),
    (OfStateStores, "test_a_state_can_be_looked_at_while_it_is_held", "HoldsInLooking"),
    (OfStateStores, "test_it_can_be_closed_twice", "ClosesOnce"),
    (OfStateStores, "test_a_killed_process_leaves_all_that_it_saved_and_lets_go", "SavesAtTheEnd"),
    (OfStateStores, "check_speed", "TiresOfSaving"),
]


@pytest.mark.parametrize(("suite", "check", "twin"), TWINS, ids=lambda part: getattr(part, "__name__", part))
def test_a_check_passes_the_sound_one_and_finds_the_fault_of_its_twin(
    suite: type[ComponentSuite], check: str, twin: str, tmp_path: Path
) -> None:
    _run(suite, check, suite.type_name, tmp_path / "sound")
    with pytest.raises((Exception, pytest.fail.Exception)) as found:
        _run(suite, check, twin, tmp_path / "faulty")
    assert not isinstance(found.value, ImportError | NameError), "a fault of the test"


def _run(suite: type[ComponentSuite], check: str, name: str, folder: Path) -> None:
    folder.mkdir()
    held = type("Held", (suite,), {"type_name": name, "path": folder})()
    method = getattr(held, check)
    given: dict[str, Any] = {"tmp_path": folder, "record_property": lambda name, value: None}
    method(**{name: given[name] for name in inspect.signature(method).parameters})


def test_each_check_has_its_twin() -> None:
    suites = (OfTransforms, OfPredicates, OfSerializers, OfSinks, OfSources, OfStateStores)
    names = [(suite, name) for suite in suites for name in dir(suite) if name.startswith(("test_", "check_"))]
    found = {getattr(suite, check).__qualname__ for suite, check, _ in TWINS}
    assert {getattr(suite, name).__qualname__ for suite, name in names} - found == set()
