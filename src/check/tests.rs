//! Rules over rows of our own: each fires on what it is for, and on nothing beside it.

mod requests;

use super::*;
use crate::store::Store;

/// A session whose tables are empty and can be written.
fn session() -> (tempfile::TempDir, Engine) {
    let folder = tempfile::tempdir().unwrap();
    let engine = Engine::open(&Store::new(folder.path())).unwrap();
    for table in crate::row::Table::ALL.map(crate::row::Table::as_str).into_iter().chain(["source"]) {
        let sql = format!(
            "CREATE TABLE copy_of_{table} AS SELECT * FROM {table}; DROP VIEW {table}; \
             ALTER TABLE copy_of_{table} RENAME TO {table}"
        );
        engine.execute(&sql).unwrap();
    }
    (folder, engine)
}

/// `code: proof` of everything found in rows of candidate `c`: `sql` fills the tables.
fn found(sql: &str) -> Vec<String> {
    let (_folder, engine) = session();
    engine.execute(sql).unwrap();
    run(&engine)
        .unwrap()
        .into_iter()
        .map(|(_, source, code, .., detail)| format!("{source} {code}: {detail}"))
        .collect()
}

/// A source at a hop.
fn source(id: &str, hop: &str) -> String {
    format!(
        "INSERT INTO source (candidate, source, name, hop, format) VALUES ('c', '{id}', '{id}.json', '{hop}', 'f');"
    )
}

/// Figures `(metric, statistic, value, unit)` of one run at line `line` of a source.
fn figures(id: &str, line: i64, rows: &[(&str, &str, f64, &str)]) -> String {
    rows.iter()
        .map(|(metric, statistic, value, unit)| {
            format!(
                "INSERT INTO aggregate (candidate, source, line, item, metric, statistic, value, unit, definition)
                 VALUES ('c', '{id}', {line}, 0, '{metric}', '{statistic}', {value}, '{unit}', '');"
            )
        })
        .collect::<Vec<_>>()
        .concat()
}

fn settings(id: &str, line: i64, rows: &[(&str, &str)]) -> String {
    rows.iter()
        .map(|(key, value)| {
            format!("INSERT INTO run (candidate, source, line, item, key, value) VALUES ('c', '{id}', {line}, 0, '{key}', '{value}');")
        })
        .collect::<Vec<_>>()
        .concat()
}

#[test]
fn every_rule_is_one_registered_file_that_says_what_why_and_how() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/check");
    let files: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".sql").map(str::to_owned))
        .collect();
    let registered: BTreeSet<String> = RULES.iter().map(|rule| rule.code.id().to_owned()).collect();
    assert_eq!(files, registered);
    assert_eq!(registered.len(), RULES.len());
    assert!(RULES.is_sorted_by_key(|rule| rule.code));
    for rule in RULES {
        for part in [rule.code.id(), "source", "proof"] {
            assert!(header(rule.sql, part).is_some_and(|text| text.len() > 10), "{}: {part}", rule.code);
        }
    }
}

#[test]
fn every_column_of_a_proof_is_in_its_query() {
    let (_folder, engine) = session();
    run(&engine).unwrap();
    let name = regex::Regex::new(r"\{([a-z0-9_]+)\}").unwrap();
    for rule in RULES {
        let batches = engine.query(&format!("DESCRIBE {}", rule.sql)).unwrap();
        let columns: BTreeSet<String> = batches
            .iter()
            .flat_map(|b| {
                let names = arrow::array::AsArray::as_string::<i32>(b.column(0));
                let types = arrow::array::AsArray::as_string::<i32>(b.column(1));
                (0..b.num_rows())
                    .map(|at| {
                        assert!(
                            ["BIGINT", "DOUBLE", "VARCHAR"].contains(&types.value(at)),
                            "{} {}: {}",
                            rule.code,
                            names.value(at),
                            types.value(at)
                        );
                        names.value(at).to_owned()
                    })
                    .collect::<Vec<_>>()
            })
            .collect();
        let proof = header(rule.sql, "proof").unwrap();
        for column in name
            .captures_iter(proof)
            .map(|found| found[1].to_owned())
            .chain(["candidate", "source", "line", "item"].map(str::to_owned))
        {
            assert!(columns.contains(&column), "{} lacks {column}: {columns:?}", rule.code);
        }
    }
}

#[test]
fn a_run_without_an_answer_measured_nothing() {
    let told = figures("a", 1, &[("requests", "completed", 0.0, "1"), ("ttft", "mean", 0.0, "ms")]);
    let asked = settings("a", 1, &[("num_prompts", "50")]);
    let all = found(&(source("a", "client") + &told + &asked));
    assert_eq!(
        all,
        ["a all-failed: 0 of 50 requests completed, yet a mean TTFT of 0 ms is stated: nothing was measured"]
    );
    let bare = figures("a", 1, &[("requests", "completed", 0.0, "1"), ("requests", "failed", 8.0, "1")]);
    assert_eq!(
        found(&(source("a", "client") + &bare)),
        ["a all-failed: 0 of 8 requests completed: nothing was measured"]
    );
}

#[test]
fn statistics_over_more_than_was_answered_are_void() {
    let told = figures(
        "a",
        1,
        &[("requests", "completed", 90.0, "1"), ("ttft", "mean", 200.0, "ms"), ("ttft", "min", 0.0, "ms")],
    );
    let all = found(&(source("a", "client") + &told + "UPDATE aggregate SET n = 100 WHERE metric = 'ttft';"));
    assert_eq!(
        all,
        [
            "a failed-counted: ttft is over 100 requests, 90 completed; its minimum is 0 s: 10 requests without an answer are counted"
        ]
    );
}

/// The table of evalscope and, in a file of its own, the command that made it.
fn evalscope(stream: &str) -> String {
    let told = figures(
        "table",
        1,
        &[
            ("duration", "value", 32.078, "s"),
            ("concurrency", "limit", 50.0, "1"),
            ("requests", "total", 50.0, "1"),
        ],
    );
    source("table", "client")
        + &told
        + &source("command", "client")
        + &settings("command", 1, &[("stream", stream)])
}

#[test]
fn without_a_stream_there_is_no_ttft_and_one_wave_is_no_steady_state() {
    let wave =
        "table one-wave: 50 requests at a concurrency of 50 = one wave: all start at once and none follows";
    assert_eq!(
        found(&evalscope("false")),
        [
            "command not-streamed: stream = false: the requests were not streamed: TTFT is not measurable from this run",
            wave
        ]
    );
    assert_eq!(found(&evalscope("true")), [wave]);
}

#[test]
fn a_growing_backlog_is_saturation_and_the_last_answers_are_not() {
    let run = |rate: f64, n: f64, duration: f64, median: f64, p99: f64| {
        let told = [
            ("requests", "completed", n, "1"),
            ("duration", "value", duration, "s"),
            ("request_rate_offered", "value", rate, "1/s"),
            ("request_rate", "value", n / duration, "1/s"),
            ("ttft", "median", median, "ms"),
            ("ttft", "p99", p99, "ms"),
        ];
        found(&(source("a", "client") + &figures("a", 1, &told)))
    };
    assert_eq!(
        run(12.0, 1000.0, 172.44, 12578.35, 54378.33),
        [
            "a over-saturated: offered 12 requests/s > achieved 5.799 (48.33 %): over-saturated, TTFT is not in a steady state; TTFT median 12.58 s, p99 54.38 s; sending takes 83.33 s, the run 172.4 s"
        ]
    );
    assert!(run(1.0, 200.0, 208.51, 328.36, 649.73).is_empty());
    // Ten-second answers to twenty seconds of sending: slow to end, but nothing waits.
    assert!(run(10.0, 200.0, 31.0, 328.36, 649.73).is_empty());
}

#[test]
fn the_sweep_has_a_knee_and_the_cap_hides_the_wait() {
    let stages = [
        (31.4, 31.42, 0.55, 0.0005, 0.006),
        (92.19, 92.22, 1.02, 0.0002, 0.002),
        (122.59, 106.49, 3.844, 3.506, 8.879),
        (183.38, 106.55, 4.143, 19.45, 42.71),
    ];
    let mut sql = source("config", "client")
        + &settings("config", 1, &[("num_workers", "44"), ("worker_max_concurrency", "10")]);
    for (stage, (offered, achieved, latency, delay, delay_p99)) in (0..).zip(stages) {
        let id = format!("s{stage}");
        sql += &(source(&id, "client")
            + &figures(
                &id,
                1,
                &[
                    ("requests", "completed", achieved * 60.0, "1"),
                    ("request_rate_offered", "value", offered, "1/s"),
                    ("request_rate", "value", achieved, "1/s"),
                    ("e2e", "mean", latency, "s"),
                    ("schedule_delay", "median", delay, "s"),
                    ("schedule_delay", "p99", delay_p99, "s"),
                ],
            )
            + &settings(&id, 1, &[("stage", &stage.to_string())]));
    }
    assert_eq!(
        found(&sql),
        [
            "s2 cap-hides-wait: limit of 440 in flight / 106.5 requests/s = 4.132 s, and the mean latency is 3.844 s: the client pins requests in flight at 440, so TTFT leaves out the wait beyond it; schedule delay median 3.506 s, p99 8.879 s; stage 2",
            "s2 over-saturated: offered 122.6 requests/s > achieved 106.5 (86.87 %): over-saturated, TTFT is not in a steady state; schedule delay median 3.506 s, p99 8.879 s; stage 2",
            "s2 sweep-knee: knee between 92.19 and 122.6 requests/s offered; beyond it 106.5 to 106.5 are achieved",
            "s3 cap-hides-wait: limit of 440 in flight / 106.5 requests/s = 4.13 s, and the mean latency is 4.143 s: the client pins requests in flight at 440, so TTFT leaves out the wait beyond it; schedule delay median 19.45 s, p99 42.71 s; stage 3",
            "s3 over-saturated: offered 183.4 requests/s > achieved 106.5 (58.1 %): over-saturated, TTFT is not in a steady state; schedule delay median 19.45 s, p99 42.71 s; stage 3",
        ]
    );
}

#[test]
fn client_and_server_speak_of_other_requests() {
    let client =
        figures("c6", 1, &[("requests", "completed", 11002.0, "1"), ("input_tokens", "mean", 204.1, "1")])
            + &settings("c6", 1, &[("stage", "6")]);
    let server = |n: f64, prompt: f64| {
        figures(
            "e6",
            1,
            &[
                ("requests", "completed", n, "1"),
                ("input_tokens", "mean", prompt, "1"),
                ("queue_len", "mean", 217.0, "1"),
                ("kv_cache_usage_percentage", "mean", 0.0, "1"),
                ("kv_cache_usage_percentage", "p99", 0.0, "1"),
            ],
        ) + &settings("e6", 1, &[("stage", "6")])
    };
    let both =
        |n, prompt| found(&(source("c6", "client") + &client + &source("e6", "engine") + &server(n, prompt)));
    let zero = "e6 zero-not-measured: kv_cache_usage_percentage is 0 while 217 requests wait in the queue: not measured, not idle (stage 6)";
    assert_eq!(
        both(21904.0, 18190.0),
        [
            "e6 population-mismatch: the server counts 21904 requests, the client completed 11002 (stage 6): ratio 1.991, the windows or the callers differ",
            "e6 token-count-mismatch: mean prompt 18190 tokens at the server, 204.1 at the client (stage 6): ratio 89.12",
            zero,
        ]
    );
    assert_eq!(both(11002.0, 210.0), [zero]);
}

#[test]
fn summaries_that_no_values_can_have() {
    let summary_at = |hop: &str, rows: &[(&str, f64)]| {
        let rows: Vec<_> = rows.iter().map(|(statistic, value)| ("ttft", *statistic, *value, "s")).collect();
        found(&(source("a", hop) + &figures("a", 1, &rows)))
    };
    let summary = |rows: &[(&str, f64)]| summary_at("client", rows);
    assert!(
        summary(&[
            ("mean", 0.351),
            ("median", 0.328),
            ("p90", 0.5),
            ("p99", 0.65),
            ("std", 0.1),
            ("min", 0.2),
            ("max", 0.7)
        ])
        .is_empty()
    );
    assert_eq!(
        summary_at(
            "engine",
            &[("mean", 2.948_046), ("median", 3.684_376), ("p90", 4.736_875), ("p99", 4.973_688)]
        ),
        [
            "a percentile-interpolated: ttft median 3.684, p90 4.737, p99 4.974 lie on one straight line (0.02631 a percent): interpolated inside one histogram bucket; the mean is 2.948"
        ]
    );
    assert_eq!(
        summary(&[("mean", 1.0), ("median", 5.0), ("p99", 5.5)]),
        [
            "a summary-contradiction: ttft: the percentiles alone make a larger mean than the one stated: 2.505 > 1"
        ]
    );
    assert_eq!(
        summary(&[("median", 2.0), ("p90", 1.0)]),
        ["a summary-contradiction: ttft: median above p90: 2 > 1"]
    );
}

#[test]
fn a_percentile_needs_a_request_beyond_it() {
    let run = |n: f64| {
        found(
            &(source("a", "client")
                + &figures("a", 1, &[("requests", "completed", n, "1"), ("ttft", "p99", 709.1, "ms")])),
        )
    };
    assert_eq!(
        run(10.0),
        [
            "a percentile-too-few: p99 of 10 requests: at least 100 are needed for one to lie beyond it, so it is the slowest request"
        ]
    );
    assert_eq!(run(99.0).len(), 1);
    assert!(run(100.0).is_empty());
}

/// A scrape of a TTFT histogram: cumulative counts by bound, sum and count.
fn histogram(buckets: &[(&str, f64)], sum: f64, count: f64) -> String {
    let mut rows: Vec<_> =
        buckets.iter().map(|(le, n)| ("bucket", format!("le=\"{le}\",model_name=\"m\""), *n)).collect();
    rows.push(("sum", "model_name=\"m\"".to_owned(), sum));
    rows.push(("count", "model_name=\"m\"".to_owned(), count));
    (1..)
        .zip(rows)
        .map(|(line, (kind, labels, value))| {
            format!(
                "INSERT INTO series (candidate, source, line, item, metric, labels, t_ns, clock, value)
                 VALUES ('c', 'p', {line}, 0, 'vllm:time_to_first_token_seconds_{kind}', '{labels}', 5, 'epoch:p', {value});"
            )
        })
        .collect::<Vec<_>>()
        .concat()
}

#[test]
fn a_histogram_below_what_a_step_takes_or_against_itself_is_void() {
    let scrape = |buckets: &[(&str, f64)], sum, count| {
        found(&(source("p", "engine") + &histogram(buckets, sum, count)))
    };
    assert_eq!(
        scrape(&[("0.1", 8060.0), ("10.0", 8060.0), ("+Inf", 8060.0)], 0.587_178_230_285_644_5, 8060.0),
        [
            "p ttft-implausible: 8060 requests in 0.5872 s: mean TTFT 0.07285 ms; 8060 of 8060 observations (100 %) lie in the lowest bucket, up to 0.1 s"
        ]
    );
    assert!(scrape(&[("0.1", 70.0), ("10.0", 80.0), ("+Inf", 80.0)], 9.5, 80.0).is_empty());
    let family = "p histogram-inconsistent: vllm:time_to_first_token_seconds";
    assert_eq!(
        scrape(&[("0.1", 70.0), ("10.0", 60.0), ("+Inf", 80.0)], 250.0, 80.0),
        [format!("{family}: a cumulative bucket falls: 60 < 70")]
    );
    assert_eq!(
        scrape(&[("0.1", 70.0), ("10.0", 80.0), ("+Inf", 80.0)], 9.5, 90.0),
        [format!("{family}: the last bucket and the count differ: 80 < 90")]
    );
    assert_eq!(
        scrape(&[("0.1", 70.0), ("10.0", 70.0), ("+Inf", 80.0)], 9.5, 80.0),
        [format!("{family}: the sum is less than the buckets hold at least: 9.5 < 100")]
    );
}

#[test]
fn runs_of_one_file_keep_their_figures_apart_whether_a_run_has_one_place_or_each_figure_a_line() {
    let few = |line: i64, n: f64| {
        [("requests", "completed", n, "1"), ("ttft", "p99", 1.0, "s")]
            .into_iter()
            .zip(line..)
            .map(|(f, line)| figures("a", line, &[f]))
            .collect::<String>()
    };
    let by_line = found(&(source("a", "client") + &few(3, 500.0) + &few(13, 10.0)));
    assert_eq!(by_line.len(), 1);
    assert!(by_line[0].contains("p99 of 10 requests"), "{by_line:?}");
    let by_place = [500.0, 10.0]
        .into_iter()
        .zip(1..)
        .map(|(n, line)| figures("a", line, &[("requests", "completed", n, "1"), ("ttft", "p99", 1.0, "s")]))
        .collect::<String>();
    assert_eq!(found(&(source("a", "client") + &by_place)), by_line);
}
