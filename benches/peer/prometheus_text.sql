-- peer: exposition text as DuckDB reads it, to the same series rows: one column of lines, taken apart by a pattern. Labels
-- stay as they stand, where ours sorts them and refuses a label that stands twice: less work than ours.
COPY (
  SELECT 'bench' AS candidate, 'dump' AS source, line, 0::BIGINT AS item, part.metric AS metric, part.labels AS labels,
    part.t::BIGINT * 1000000 AS t_ns, 'epoch:dump' AS clock, part."value"::DOUBLE AS "value"
  FROM (
    SELECT ROW_NUMBER() OVER () AS line,
      regexp_extract(column0, '^([a-zA-Z_:][a-zA-Z0-9_:]*)[{]([^}]*)[}] ([^ ]+) ([0-9]+)$', ['metric', 'labels', 'value', 't']) AS part
    FROM read_csv('{file}', header = false, delim = '\x01', quote = '', escape = '', columns = {column0: 'VARCHAR'})
    WHERE NOT starts_with(column0, '#'))
) TO '{out}.series.parquet' (FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1);
