-- instant: the marks of every request row, one column a name. Times stay on the clock they were read from.
SELECT
  row,
  MAX(CASE WHEN name = 'scheduled' THEN t_ns END) AS scheduled,
  MAX(CASE WHEN name = 'send' THEN t_ns END) AS send,
  MAX(CASE WHEN name = 'headers' THEN t_ns END) AS headers,
  MAX(CASE WHEN name = 'first_token' THEN t_ns END) AS first_token,
  MAX(CASE WHEN name = 'start' THEN t_ns END) AS start_ns,
  MAX(CASE WHEN name = 'launch' THEN t_ns END) AS launch,
  MAX(CASE WHEN name = 'end' THEN t_ns END) AS end_ns,
  MAX(CASE WHEN name = 'end' THEN resolution_ns END) AS step_ns,
  MIN(clock) AS clock
FROM mark
GROUP BY row
