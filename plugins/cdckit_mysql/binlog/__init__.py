"""The binary log: from a connection, or any source of its bytes, to events which are read as little as needed.

Three layers, each usable alone:

- `framing`: bytes to packets (`PacketBuffer`), by offset and without copies.
- `parser`: one event's bytes to a `LogEvent` (`EventParser`); it keeps what later events depend on: the checksum
  algorithm, the tables announced by TABLE_MAP. Events inside a compressed transaction come out as if they stood in
  the log themselves, with the position of the event that holds them.
- `connection`: `BinlogConnection.open(settings, start)` logs in and asks for the log from a position;
  `read(timeout)` gives the events that have arrived, a list that may be empty.

`place` has what goes over headers alone, for planners. `gtid` holds GTID sets.
"""
