"""Options: what the change stream shows, and how it is read."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeInt, field_validator, model_validator

from cdckit import SourceConfig

Stage = dict[str, Any]
"""A stage of an aggregation, or a filter."""


def read_json(text: str, option: str) -> Any:
    """What a JSON text says.

    Raises:
        ValueError: it is none; the message names the option.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{option} is no JSON: {error}") from None


def _stages(value: Any) -> list[Stage]:
    """The stages of a pipeline: of a JSON text, or as YAML has them."""
    given = read_json(value, "cursor.pipeline") if isinstance(value, str) and value.strip() else value or []
    stages = given if isinstance(given, list) else [given]
    for stage in stages:
        if not isinstance(stage, dict) or len(stage) != 1 or not next(iter(stage)).startswith("$"):
            raise ValueError('cursor.pipeline should be a JSON array of stages such as {"$match": {…}}')
    return stages


class StreamOptions(SourceConfig):
    """The change stream."""

    capture_mode: Literal[
        "change_streams",
        "change_streams_update_full",
        "change_streams_with_pre_image",
        "change_streams_update_full_with_pre_image",
    ] = "change_streams_update_full"
    """What an update shows: what has changed, also the whole document (`update_full`), also the document before
    (`with_pre_image`, which the collection must have enabled).
    """
    capture_mode_full_update_type: Literal["lookup", "post_image", "post_image_required"] = "lookup"
    """Where the whole document of an update comes from: looked up when the event is read, which may be newer, or
    the collection's post-image; `post_image_required`, cdckit's own, stops where there is none.
    """
    capture_mode_pre_image: Literal["when_available", "required"] = "when_available"
    """cdckit's own, not Debezium's: whether a change whose document before is not there has none, or stops the
    pipeline.
    """
    capture_start_op_time: int = -1
    """A cluster time (BSON timestamp as one number) to start the stream from, where there is no offset and the snapshot
    reads no documents (`snapshot.mode=no_data`).
    """
    cursor_max_await_time_ms: NonNegativeInt = 0
    """How long the server waits for new events before it answers, in milliseconds; at the most, and with 0, as long as
    `poll.interval.ms` says.
    """
    cursor_pipeline: Annotated[list[Stage], BeforeValidator(_stages)] = Field(default_factory=list)
    """Stages (a JSON array) of an aggregation that the server applies to the stream."""
    cursor_pipeline_order: Literal["internal_first", "user_first", "user_only"] = "internal_first"
    """Whether those come behind or before the source's own filter, or replace it (`user_only`): then
    `skipped.operations` leaves nothing out.
    """
    cursor_oversize_handling_mode: Literal["fail", "skip", "split"] = "fail"
    """What becomes of an event of more than 16 MB: `fail` stops, `skip` leaves out each event whose document, before or
    after the change, is beyond the threshold, `split` has the server send it in fragments (MongoDB 6.0.9 or newer).
    """
    cursor_oversize_skip_threshold: NonNegativeInt = 0
    """The size of a document, in bytes, beyond which `skip` leaves its events out."""

    @field_validator("capture_start_op_time")
    @classmethod
    def _whole_timestamp(cls, time: int) -> int:
        if 0 < time < 1 << 32:
            raise ValueError("should be a BSON timestamp as one number: seconds since 1970 times 2^32, and the order")
        return time

    @model_validator(mode="after")
    def _threshold_of_skipping(self) -> Self:
        if self.cursor_oversize_handling_mode == "skip" and not self.cursor_oversize_skip_threshold:
            raise ValueError("cursor.oversize.handling.mode=skip needs cursor.oversize.skip.threshold, in bytes")
        return self

    @model_validator(mode="after")
    def _images_that_the_mode_shows(self) -> Self:
        if self.capture_mode_pre_image == "required" and not self.asks_for_pre_images:
            raise ValueError("capture.mode.pre.image=required needs a capture.mode with pre-images (…_with_pre_image)")
        if self.capture_mode_full_update_type == "post_image_required" and not self.whole_updates:
            raise ValueError(
                "capture.mode.full.update.type=post_image_required needs a capture.mode with whole updates "
                "(…_update_full…)"
            )
        return self

    @property
    def whole_updates(self) -> bool:
        """Whether an update's event carries the whole document."""
        return "update_full" in self.capture_mode

    @property
    def partial_updates(self) -> str | None:
        """What brings whole documents."""
        return None if self.whole_updates else "set source.capture.mode to change_streams_update_full"

    @property
    def asks_for_pre_images(self) -> bool:
        """Whether events show the document before."""
        return "pre_image" in self.capture_mode

    @property
    def asks_for_post_images(self) -> bool:
        """Whether whole documents of updates are post-images."""
        return self.whole_updates and self.capture_mode_full_update_type != "lookup"

    @property
    def requires_images(self) -> bool:
        """Whether a change without its image stops the pipeline."""
        return self.capture_mode_pre_image == "required" or self.capture_mode_full_update_type == "post_image_required"
