SET NAMES utf8mb4; SET time_zone='+00:00'; SET sql_mode=''; USE differ;
INSERT INTO masks VALUES ('key three','Bob','other long text','wxyz','large','q','{"b": [1,2]}','blobby2',8,'outer','99.99','2021-01-01 00:00:00.1','y');
UPDATE masks SET a='Alicia', i='changed' WHERE id='key one'; UPDATE masks SET id='k4' WHERE id='k2'; DELETE FROM masks WHERE id='key one';
INSERT INTO shard_1 VALUES (2,2); UPDATE shard_1 SET id=3 WHERE id=2; DELETE FROM shard_1 WHERE id=1; INSERT INTO shard_2 VALUES (5); DELETE FROM shard_2 WHERE v=2; INSERT INTO `odd näme_x` VALUES (2);
INSERT INTO zeros VALUES (4,'0000-00-00','0000-00-00','0000-00-00','0000-00-00',0,1,5),(5,'2020-02-02','2020-02-02 01:02:03','2020-02-02 01:02:03.5','2020-02-02 01:02:03',1,NULL,NULL); DELETE FROM zeros WHERE id=1;
INSERT INTO marker VALUES (1);
