/* leading comment */ CREATE TABLE c1 (a INT);
-- a line comment
CREATE TABLE c2 (a INT, -- first
  b INT # second
  , /* third */ c INT /* ; */ );
# another line comment
ALTER TABLE c2 ADD d VARCHAR(20) DEFAULT '-- no comment', ADD e VARCHAR(19) DEFAULT '/* none */';
CREATE TABLE c3 (a INT /*!50001 NOT NULL */, b INT /*!99999 UNIQUE */) /*!50100 PARTITION BY HASH (a) PARTITIONS 2 */;
/*!50001 CREATE TABLE c4 (a INT, b INT) */;
CREATE /*!40000 TABLE */ c5 /* x */ ( /*!00000 a INT */ );
CREATE TABLE `select` (`from` INT, `where` INT, PRIMARY KEY (`from`));
CREATE TABLE `back``tick` (`a``b` INT, KEY `k``k` (`a``b`));
CREATE TABLE `with space` (`a column` INT, `another one` INT, UNIQUE KEY `some key` (`another one`));
CREATE TABLE таблица (столбец INT, `größe` INT, KEY ключ (столбец));
CREATE TABLE `dotted.name` (`a.b` INT);
CREATE TABLE 1st (2nd INT, `3` INT, 4x INT);
CREATE TABLE $dollar (a$b INT, _c INT);
CREATE TABLE UPPER_lower (Aa INT, bB INT);
CREATE TABLE ddl2.qualified (a INT);
CREATE TABLE `ddl2`.`quoted` (a INT, ddl2_b INT);
CREATE TABLE ddl2 . spaced ( a INT );
create table lower_case (a int not null auto_increment, b varchar(10) default 'X' comment 'cOmment', primary key(a)) engine=innodb default charset=latin1 comment='T';
CREATE TABLE key_words (action INT, at INT, begin INT, cascaded INT, `check` INT, client INT, close INT, code INT, columns INT, `constraint` INT, data INT, day INT, `default` INT, do INT, duplicate INT, dynamic INT, event INT, expire INT, fields INT, file INT, fixed INT, flush INT, `foreign` INT, full INT, global INT, grant_it INT, hash INT, help INT, host INT, hosts INT, `index` INT, indexes INT, install INT, invoker INT, `key` INT, language INT, last INT, level INT, local INT, logs INT, master INT, medium INT, memory INT, merge INT, `partition` INT, point INT, `primary` INT, `references` INT, session INT, `set` INT, `table` INT, tables INT, text INT, `unique` INT, unsigned_it INT, user INT, variables INT, view INT, wait INT, x509 INT);
ALTER TABLE key_words DROP `check`, DROP `constraint`, DROP `foreign`, DROP `index`, DROP `key`, DROP `primary`, DROP `unique`, DROP `partition`, DROP code;
ALTER TABLE `ddl1`.`with space` CHANGE `a column` `b column` INT, DROP INDEX `some key`;
ALTER TABLE `back``tick` RENAME `tick``back`;
RENAME TABLE `with space` TO `without`, таблица TO `таблица 2`;
SET sql_mode = 'ANSI_QUOTES';
CREATE TABLE "ansi" ("a" INT, "b ""c" VARCHAR(9) DEFAULT 'say "x"', `d` INT, PRIMARY KEY ("a"));
ALTER TABLE "ansi" ADD "e" ENUM('p','q') DEFAULT 'q', DROP COLUMN "d";
SET sql_mode = 'NO_BACKSLASH_ESCAPES';
CREATE TABLE slashes (a VARCHAR(9) DEFAULT 'x\', b VARCHAR(9) DEFAULT '\n', c ENUM('\','\\') DEFAULT '\\', d VARCHAR(9) DEFAULT 'it''s\');
SET sql_mode = 'REAL_AS_FLOAT';
CREATE TABLE reals (a REAL, b REAL(5,2), c DOUBLE, d REAL UNSIGNED);
SET sql_mode = DEFAULT;
CREATE TABLE at_the_end (a INT) ;
CREATE TABLE comments (a INT COMMENT 'it''s', b INT COMMENT "say ""x""", c INT COMMENT 'tab\t\\', d INT COMMENT 'é€', e INT COMMENT '') COMMENT 'one' ENGINE=InnoDB COMMENT='two';
