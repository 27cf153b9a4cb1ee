-- The work done for the servers since the start, as one JSON object: kind of query -> calls, rows.
WITH kinds (kind, pattern) AS (
  VALUES
    ('sql1', '^\s*SELECT\s+CAST\s*\(\s*now\s*\(\s*\)\s+AS\s+VARCHAR\s*\)\s*;?\s*$'),
    ('sql2', '^\s*SELECT\s+id\s*,\s*number\s*,\s*name\s+FROM\s+record\s+WHERE\s+id\s*=\s*ANY\s*\(\s*\$1\s*\)\s*;?\s*$'),
    ('other', NULL)
),
counted AS (
  SELECT coalesce((SELECT kind FROM kinds WHERE query ~* pattern), 'other') AS kind, calls, rows
  FROM pg_stat_statements
  WHERE userid <> 'counter'::regrole AND userid <> 'postgres'::regrole
),
summed AS (
  SELECT kind, coalesce(sum(calls), 0)::bigint AS calls, coalesce(sum(rows), 0)::bigint AS rows
  FROM kinds LEFT JOIN counted USING (kind)
  GROUP BY kind
)
SELECT json_object_agg(kind, json_build_object('calls', calls, 'rows', rows)) FROM summed;
