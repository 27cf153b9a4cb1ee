-- The table that sql2 reads: 10,000 rows, always the same ones (the formula is in the README beside this folder).
SET client_encoding = 'UTF8';
CREATE TABLE record (id integer PRIMARY KEY, number integer NOT NULL, name text NOT NULL);
INSERT INTO record (id, number, name)
SELECT id, (id * 7919 + 13) % 10000 + 1,
       'record ' || id || CASE WHEN id % 100 = 0 THEN ' "Zoë''s" <5 % & 3 €> \ 🚂' ELSE '' END
FROM generate_series(1, 10000) AS id;
ANALYZE record;
