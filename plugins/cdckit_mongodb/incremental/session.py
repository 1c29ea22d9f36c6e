"""The session that marks are written and chunks are read through, so that a chunk is read behind its first mark."""

from __future__ import annotations

from bson import Timestamp
from pymongo.client_session import ClientSession

from cdckit_mongodb.offsets import Moment
from cdckit_mongodb.server.connection import Client


class SnapshotSession:
    """One causally consistent session.

    Args:
        client: where to.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._session: ClientSession | None = None

    def open(self) -> ClientSession:
        """The session, opened when it is first needed."""
        if self._session is None:
            self._session = self.client.start_session(causal_consistency=True)
        return self._session

    def open_behind(self, moment: Moment) -> ClientSession:
        """The session, which sees everything up to that moment of the stream.

        A stream that was just opened stands one step ahead of the cluster's time, which no reading may ask for.
        """
        session = self.open()
        self.client.admin.command("ping", session=session)
        known = session.cluster_time
        wanted = Timestamp(*moment)
        session.advance_operation_time(wanted if known is None else min(wanted, known["clusterTime"]))
        return session

    def close(self) -> None:
        """Lets it go."""
        if self._session is not None:
            self._session.end_session()
            self._session = None
