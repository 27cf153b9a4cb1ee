-- Who may do what: the servers read one table, the counter reads statistics.
CREATE EXTENSION pg_stat_statements;
CREATE ROLE bench LOGIN;
CREATE ROLE counter LOGIN CONNECTION LIMIT 3 IN ROLE pg_read_all_stats;
REVOKE ALL ON DATABASE bench FROM PUBLIC;
GRANT CONNECT ON DATABASE bench TO bench, counter;
GRANT SELECT ON record TO bench;
