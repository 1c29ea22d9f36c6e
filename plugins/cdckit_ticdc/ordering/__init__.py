"""The order in which messages become records: watermarks, buffers, and what tells a resent row from a new one."""
