"""Which transactions a server is told are read, where only some sources count (`gtid.source.includes`, `…excludes`).

Servers of a topology often have transactions of their own, which the others lack or have purged. Those of sources that
are not chosen are no reason to stop.
"""

from __future__ import annotations

from cdckit.connector.include_lists import Choice
from cdckit_mysql.binlog.gtid import GtidSet, MariaDbGtidSet, TransactionSource
from cdckit_mysql.options.capture import GtidOptions
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import query
from cdckit_mysql.streaming.transaction_range import MariaDbTransactions, MySqlTransactions, Transactions


def source_names(source: TransactionSource) -> tuple[str, ...]:
    """What a pattern may match of a source: its UUID, and of a tagged one `UUID:TAG`."""
    return (source.uuid, str(source)) if source.tag else (source.uuid,)


class GtidStart:
    """Compares what was read with what a server has.

    Args:
        options: which sources count.
    """

    def __init__(self, options: GtidOptions) -> None:
        self._choice = Choice(options.gtid_source_includes, options.gtid_source_excludes)
        self._leaves_out = options.gtid_source_filter_dml_events

    def mysql(self, connection: Connection, read: GtidSet, *, purged_too: bool = False) -> GtidSet:
        """What a MySQL server is told: of other sources nothing that it lacks, and all that it has purged.

        Args:
            connection: to the server.
            read: the transactions that were read.
            purged_too: whether what it has purged of the others is not wanted either.
        """
        if not self._choice:
            return read | mysql_gtids(connection)[1] if purged_too else read
        executed, purged = mysql_gtids(connection)
        chosen = read.of(self._chooses)
        # A server may refuse a set that has what it lacks (error 1236), and sends everything that the set lacks: of
        # sources that do not count, only what it has itself is named.
        told = chosen | ((read - chosen) & executed)
        if purged_too:
            return told | purged
        return told | (purged - purged.of(self._chooses)) if self._leaves_out else told

    def mariadb(self, connection: Connection, read: MariaDbGtidSet) -> MariaDbGtidSet:
        """What a MariaDB server is told: other domains go on where they were read to, or where the server is."""
        if not self._choice:
            return read
        known, told = dict(read.domains()), MariaDbGtidSet()
        [(text,)] = query(connection, "SELECT @@global.gtid_binlog_pos")
        for domain, last in MariaDbGtidSet.parse(text).domains():
            # A domain that is not named is sent from its begin, which may be purged; one that is named further on than
            # the server is refused.
            if not self._choice(str(domain)):
                behind = domain in known and known[domain][1] <= last[1]
                told.add(domain, *(known[domain] if behind else last))
        for domain, last in known.items():
            if self._choice(str(domain)):
                told.add(domain, *last)
        return told

    def why_lost(self, read: GtidSet, executed: GtidSet, purged: GtidSet) -> str | None:
        """Why a MySQL server cannot give what comes behind `read`, or None where it can."""
        missing = purged - read
        if self._choice and self._leaves_out:
            missing = missing.of(self._chooses)
        if missing:
            return f"the server has purged transactions that were not read yet ({missing})"
        ahead = self.lacking(read, executed)
        if ahead:
            return (
                f"the server does not have transactions that were read already ({ahead}): it has lost part of its log, "
                "or has taken over from a server that died with them"
            )
        return None

    def transactions(self, read: str, end: str, *, mariadb: bool) -> Transactions:
        """Those of a range, of which none may be lacking that count."""
        if mariadb:
            return MariaDbTransactions(MariaDbGtidSet.parse(read), MariaDbGtidSet.parse(end), self._choice)
        return MySqlTransactions(GtidSet.parse(read), GtidSet.parse(end), self._chooses)

    def counted(self, text: str, *, mariadb: bool) -> GtidSet | MariaDbGtidSet:
        """Those of some transactions that count."""
        if not mariadb:
            return GtidSet.parse(text).of(self._chooses)
        domains = MariaDbGtidSet.parse(text).domains()
        return MariaDbGtidSet({domain: last for domain, last in domains if self._choice(str(domain))})

    def due(self, read: GtidSet, end: GtidSet) -> GtidSet:
        """What a MySQL server must have for a range."""
        return (end - read).of(self._chooses)

    def lacking(self, wanted: GtidSet, executed: GtidSet) -> GtidSet:
        """What a MySQL server has not carried out of what is wanted, where that counts."""
        ahead = wanted - executed
        return ahead.of(self._chooses) if self._choice else ahead

    def _chooses(self, source: TransactionSource) -> bool:
        return self._choice(*source_names(source))


def mysql_gtids(connection: Connection) -> tuple[GtidSet, GtidSet]:
    """The transactions that MySQL has carried out, and those of them that are gone from its log."""
    [(executed, purged)] = query(connection, "SELECT @@global.gtid_executed, @@global.gtid_purged")
    return GtidSet.parse(executed), GtidSet.parse(purged)
