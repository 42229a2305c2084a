//! Rules over single requests, events and scrapes.

use super::{figures, found, source};

/// Client requests 1 to n, sent a second apart; `sql` gives their first token and end in ms after the send.
fn requests(id: &str, n: i64, first: &str, end: &str) -> String {
    format!(
        "INSERT INTO request (candidate, source, row, line, item, hop, outcome, output_tokens)
           SELECT 'c', '{id}', i, i, 0, 'client', 'ok', 20 FROM range(1, {n} + 1) t(i);
         INSERT INTO mark (candidate, source, row, line, item, name, t_ns, clock, resolution_ns)
           SELECT 'c', '{id}', i, i, 0, name, i * 1000000000 + CAST(ms AS BIGINT) * 1000000, 'epoch:{id}', 1 FROM range(1, {n} + 1) t(i),
           LATERAL (SELECT 'send' AS name, 0 AS ms UNION ALL SELECT 'first_token', {first} UNION ALL SELECT 'end', {end});"
    )
}

#[test]
fn a_first_token_that_comes_with_the_last_is_the_total() {
    let all = found(&(source("a", "client") + &requests("a", 20, "900 + i % 3", "900 + i % 3")));
    assert_eq!(
        all,
        [
            "a ttft-is-total: TTFT 901 ms of 901 ms in all, with 20 tokens an answer, in 20 of 20 requests: the first token came with the last"
        ]
    );
    assert!(found(&(source("a", "client") + &requests("a", 20, "300", "900"))).is_empty());
    let few = found(&(source("a", "client") + &requests("a", 4, "900", "900")));
    assert!(few.is_empty(), "{few:?}");
}

#[test]
fn some_contradictions_are_reported_and_many_void_the_source() {
    let some =
        found(&(source("a", "client") + &requests("a", 40, "CASE WHEN i < 3 THEN -5 ELSE 300 END", "900")));
    assert_eq!(
        some,
        [
            "a value-impossible: 2 of 40 requests contradict themselves, e.g. first token before the request was sent: 1 s > 995 ms"
        ]
    );
    let many =
        found(&(source("a", "client") + &requests("a", 40, "CASE WHEN i < 4 THEN -5 ELSE 300 END", "900")));
    assert!(many.len() == 1 && many[0].starts_with("a timeline-impossible: 3 of 40"), "{many:?}");
    let rounded = found(&(source("a", "client") + &requests("a", 40, "300", "299")));
    assert!(rounded.iter().all(|f| f.starts_with("a ttft-is-total")), "{rounded:?}");
}

#[test]
fn an_engines_parts_are_not_longer_than_its_whole() {
    let span = |queue: i64, ttft: i64| {
        format!(
            "INSERT INTO request (candidate, source, row, line, item, hop, outcome) VALUES ('c', 'e', 1, 7, 2, 'engine', 'ok');
             INSERT INTO measure (candidate, source, row, line, item, definition, duration_ns, unit, resolution_ns) VALUES
               ('c', 'e', 1, 7, 2, 'vllm.queue', {queue}, 's', 1), ('c', 'e', 1, 7, 2, 'vllm.prefill', 50000000, 's', 1),
               ('c', 'e', 1, 7, 2, 'vllm.ttft', {ttft}, 's', 1);"
        )
    };
    assert!(found(&(source("e", "engine") + &span(20_000_000, 70_000_000))).is_empty());
    assert_eq!(
        found(&(source("e", "engine") + &span(30_000_000, 70_000_000))),
        [
            "e timeline-impossible: 1 of 1 requests contradict themselves, e.g. queue + prefill longer than the TTFT they are parts of: 80 ms > 70 ms"
        ]
    );
}

#[test]
fn a_span_between_two_clocks_that_runs_backwards_is_void() {
    let span = |end: i64| {
        format!(
            "INSERT INTO request (candidate, source, row, line, item, hop, outcome) VALUES ('c', 'g', 1, 1, 0, 'gateway', 'ok');
             INSERT INTO mark (candidate, source, row, line, item, name, t_ns, clock, resolution_ns) VALUES
               ('c', 'g', 1, 1, 0, 'start', 240000000000, 'epoch:database', 1000000), ('c', 'g', 1, 1, 0, 'end', {end}, 'epoch:process', 1000000);"
        )
    };
    assert_eq!(
        found(&(source("g", "gateway") + &span(2_500_000_000))),
        [
            "g clock-jump: 1 spans start on clock epoch:database and end on clock epoch:process, 237.5 s before they start: clock skew of at least 4 minutes, durations across the two are void"
        ]
    );
    assert!(found(&(source("g", "gateway") + &span(250_000_000_000))).is_empty());
}

#[test]
fn a_cold_first_request_shows() {
    let cold = found(
        &(source("a", "client") + &requests("a", 30, "CASE WHEN i = 1 THEN 700 ELSE 50 + i END", "900")),
    );
    assert_eq!(
        cold,
        [
            "a warm-up-counted: the first request took longest: 700 ms against a median of 66 ms, 10.61 times, over 30 requests: keep the cold run apart from the warm and repeat it on the warm server"
        ]
    );
    assert!(
        found(
            &(source("a", "client") + &requests("a", 30, "CASE WHEN i = 9 THEN 700 ELSE 50 + i END", "900"))
        )
        .is_empty()
    );
    let block = figures(
        "a",
        1,
        &[("requests", "completed", 10.0, "1"), ("itl", "median", 27.44, "ms"), ("itl", "p99", 231.45, "ms")],
    );
    let few = found(&(source("a", "client") + &block));
    assert!(
        few.len() == 1
            && few[0].contains("231.4 ms against a median of 27.44 ms, 8.435 times, over 10 requests"),
        "{few:?}"
    );
}

#[test]
fn prompts_found_in_the_cache_of_an_earlier_run_show() {
    let run = |id: &str, at: i64, cached: i64| {
        format!(
            "INSERT INTO request (candidate, source, row, line, item, hop, outcome, sample_id, input_tokens, cached_tokens)
               SELECT 'c', '{id}', {at} + i, i, 0, 'client', 'ok', 'p' || i, 100, {cached} FROM range(1, 11) t(i);
             INSERT INTO mark (candidate, source, row, line, item, name, t_ns, clock, resolution_ns)
               SELECT 'c', '{id}', {at} + i, i, 0, 'send', {at} + i, 'epoch:a', 1 FROM range(1, 11) t(i);"
        )
    };
    let both = |later| {
        found(
            &(source("one", "client")
                + &source("two", "client")
                + &run("one", 0, 0)
                + &run("two", 1000, later)),
        )
    };
    assert_eq!(
        both(90),
        [
            "two prefix-cache-shared: 10 of 10 prompts were sent before in another run; of their tokens 90 % come from the prefix cache, 0 % in the earlier run"
        ]
    );
    assert!(both(0).is_empty());
}

#[test]
fn the_first_token_of_any_kind_is_not_the_first_of_the_answer() {
    let stated = |output: i64| {
        format!(
            "INSERT INTO request (candidate, source, row, line, item, hop, outcome) VALUES ('c', 'a', 1, 1, 0, 'client', 'ok');
             INSERT INTO measure (candidate, source, row, line, item, definition, duration_ns, unit, resolution_ns) VALUES
               ('c', 'a', 1, 1, 0, 'aiperf.ttft', 100000000, 'ms', 1), ('c', 'a', 1, 1, 0, 'aiperf.ttfo', {output}, 'ms', 1);"
        )
    };
    assert_eq!(
        found(&(source("a", "client") + &stated(2_500_000_000))),
        [
            "a first-token-meaning: reasoning tokens come first: the first token after 100 ms on average, the first token of the output after 2.5 s, in 1 requests"
        ]
    );
    assert!(found(&(source("a", "client") + &stated(100_000_000))).is_empty());
}

#[test]
fn a_start_and_an_end_in_records_of_their_own_meet_by_their_id() {
    let record = |row: i64, marks: &[(&str, i64, &str)]| {
        let marks = marks
            .iter()
            .map(|(name, t, clock)| {
                format!(
                    "INSERT INTO mark (candidate, source, row, line, item, name, t_ns, clock, resolution_ns)
                     VALUES ('c', 'g', {row}, {row}, 0, '{name}', {t}, 'epoch:{clock}', 1000000);"
                )
            })
            .collect::<Vec<_>>()
            .concat();
        format!(
            "INSERT INTO request (candidate, source, row, line, item, hop, outcome, request_id)
             VALUES ('c', 'g', {row}, {row}, 0, 'gateway', 'unknown', 'completion');{marks}"
        )
    };
    let start = 240_000_000_000;
    let sql = source("g", "gateway")
        + &record(1, &[("start", start, "database")])
        + &record(2, &[("end", 2_500_000_000, "process")])
        + &record(3, &[("start", start, "export"), ("end", start, "export")]);
    let all = found(&sql);
    assert_eq!(all.len(), 1, "{all:?}");
    for part in ["epoch:database", "epoch:process", "237.5 s", "1 spans are written as 0 long"] {
        assert!(all[0].contains(part), "{part} in {all:?}");
    }
}

#[test]
fn chunks_that_arrive_in_bursts_were_buffered_on_the_way() {
    let stream = |path: &str, line: i64, received: &str| {
        format!(
            "INSERT INTO event (candidate, source, line, item, hop, kind, t_ns, clock, resolution_ns, instance, detail)
               SELECT 'c', 'k', {line} + i, 0, 'client', kind, t, 'monotonic:k', 1000000, '{path}', '' FROM range(0, 60) c(i),
               LATERAL (SELECT 'chunk-sent' AS kind, 500000000 + i * 250000000 AS t
                 UNION ALL SELECT 'chunk-received', {received});"
        )
    };
    let sql = source("k", "client")
        + &stream("direct", 1, "500000000 + i * 250000000")
        + &stream("gateway", 101, "16500000000");
    assert_eq!(
        found(&sql),
        [
            "k response-buffered: gateway: 60 chunks sent 250 ms apart, the first at 500 ms, reach the client in 1 bursts of up to 60 chunks, the first at 16.5 s: a hop between server and client (gateway) buffers the response"
        ]
    );
}

#[test]
fn a_backlog_that_grows_is_seen_in_single_requests() {
    // Sent every half second, answered every second: half of them are in flight at the last send.
    let sql = source("a", "client")
        + &requests("a", 40, "300 + i * 500", "900 + i * 500")
        + "UPDATE mark SET t_ns = t_ns - row * 500000000;";
    let all = found(&sql);
    assert!(
        all.len() == 1
            && all[0].starts_with("a over-saturated: offered 2.051 requests/s > achieved 0.9744 (47.5 %)"),
        "{all:?}"
    );
    // One wave at a time or a steady pace is none.
    let steady = found(&(source("a", "client") + &requests("a", 40, "3000", "9000")));
    assert!(steady.is_empty(), "{steady:?}");
}

#[test]
fn a_servers_counter_is_held_against_the_requests_it_frames() {
    let scrapes = |from: i64, to: i64| {
        format!(
            "INSERT INTO series (candidate, source, line, item, metric, labels, t_ns, clock, value) VALUES
               ('c', 'p', 1, 0, 'vllm:request_success_total', 'finished_reason=\"stop\"', 0, 'epoch:p', {from}),
               ('c', 'p', 2, 0, 'vllm:request_success_total', 'finished_reason=\"stop\"', 60000000000, 'epoch:p', {to});"
        )
    };
    let sql = source("a", "client") + &requests("a", 40, "300", "900") + &source("p", "engine");
    assert!(found(&(sql.clone() + &scrapes(1000, 1040))).is_empty());
    assert_eq!(
        found(&(sql + &scrapes(1000, 1100))),
        [
            "p population-mismatch: the server counts 100 requests, the client completed 40: ratio 2.5, the windows or the callers differ"
        ]
    );
}
