BEGIN TRANSACTION;
CREATE TABLE history (
    history text not null, position text not null, entry text not null, primary key (history, position)
) strict, without rowid;
INSERT INTO "history" VALUES('schema','0000-0000000000-000000001537-start','{"start": {"lower_case_table_names": 0, "databases": [{"name": "@DATABASE@", "charset": "utf8mb4", "collation": "utf8mb4_0900_ai_ci"}]}}');
INSERT INTO "history" VALUES('schema','0000-0000000000-000000001537-table-00000000','{"table": {"database": "@DATABASE@", "name": "notes", "columns": [{"name": "n", "type_name": "INT", "position": 1, "optional": false}], "primary_key": ["n"], "indexes": [], "charset": "utf8mb4", "collation": "utf8mb4_0900_ai_ci", "comment": null, "period": null, "system_versioned": false, "sequence": false}}');
INSERT INTO "history" VALUES('schema','0000-0000000000-000000001537-table-00000001','{"table": {"database": "@DATABASE@", "name": "orders", "columns": [{"name": "id", "type_name": "INT", "position": 1, "optional": false}, {"name": "word", "type_name": "VARCHAR", "position": 2, "length": 20, "charset": "utf8mb4", "collation": "utf8mb4_0900_ai_ci", "has_default": true}], "primary_key": ["id"], "indexes": [], "charset": "utf8mb4", "collation": "utf8mb4_0900_ai_ci", "comment": null, "period": null, "system_versioned": false, "sequence": false}}');
INSERT INTO "history" VALUES('schema','0000-0000000000-000000002123-ddl','{"ddl": "alter table notes add column w varchar(9)", "database": "@DATABASE@", "dropped": [], "tables": [{"database": "@DATABASE@", "name": "notes", "columns": [{"name": "n", "type_name": "INT", "position": 1, "optional": false}, {"name": "w", "type_name": "VARCHAR", "position": 2, "length": 9, "charset": "utf8mb4", "collation": "utf8mb4_0900_ai_ci", "has_default": true}], "primary_key": ["n"], "indexes": [], "charset": "utf8mb4", "collation": "utf8mb4_0900_ai_ci", "comment": null, "period": null, "system_versioned": false, "sequence": false}], "dropped_databases": [], "databases": []}');
CREATE TABLE keep (key text primary key, value text not null) strict, without rowid;
INSERT INTO "keep" VALUES('snapshot','{"id": "0000-0000000000-000000001537", "chunks": [[["@DATABASE@", "notes"], "", ""], [["@DATABASE@", "orders"], "", ""]]}');
CREATE TABLE offset (one integer primary key check (one = 1), offset text not null) strict;
INSERT INTO "offset" VALUES(1,'{"ts_sec": 1795536203, "file": "@FILE@", "pos": @POS@, "gtids": "@GTIDS@", "server_id": @SERVER_ID@, "cdckit_server": "@UUID@"}');
COMMIT;
PRAGMA user_version=1;
