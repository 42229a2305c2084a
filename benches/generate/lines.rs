//! How each program writes what it saw of a request, in the words and field order of the recorded samples.

use jiff::Timestamp;
use std::fmt::Write;

/// One attempt of a request: who, how much, and when; true times in ns.
#[derive(Default)]
pub struct Attempt {
    pub id: String,
    pub trace: String,
    pub span: String,
    pub proxy_id: String,
    pub sample: String,
    pub caller: &'static str,
    pub number: u32,
    pub input: i64,
    pub output: i64,
    pub due: i64,
    pub send: i64,
    pub gateway: i64,
    pub start: i64,
    pub headers: i64,
    pub queue: i64,
    pub prefill: i64,
    pub decode: i64,
    pub ttft: i64,
    pub engine_end: i64,
    pub first_chunk: i64,
    pub first_token: i64,
    pub gateway_end: i64,
    pub last_token: i64,
    pub end: i64,
}

/// An instance of the engine.
pub struct Engine {
    pub id: String,
    pub number: u16,
}

impl Engine {
    fn port(&self) -> u16 {
        8001 + self.number
    }
}

/// What an instance counts of its requests.
#[derive(Default)]
pub struct Sums {
    count: u64,
    ttft: i64,
    queue: i64,
    prefill: i64,
    below: [u64; BUCKETS.len()],
}

const BUCKETS: [(&str, i64); 6] = [
    ("0.1", 100_000_000),
    ("0.5", 500_000_000),
    ("1.0", 1_000_000_000),
    ("5.0", 5_000_000_000),
    ("10.0", 10_000_000_000),
    ("+Inf", i64::MAX),
];

impl Sums {
    pub fn add(&mut self, a: &Attempt) {
        self.count += 1;
        self.ttft += a.ttft;
        self.queue += a.queue;
        self.prefill += a.prefill;
        for (below, (_, limit)) in self.below.iter_mut().zip(BUCKETS) {
            *below += u64::from(a.ttft <= limit);
        }
    }
}

impl Attempt {
    fn class(&self) -> &'static str {
        match self.input {
            ..=128 => "short",
            129..=1024 => "medium",
            _ => "long",
        }
    }

    fn timeline_head(&self, ahead: i64) -> String {
        format!(
            r#"{{"request_id": "{}", "attempt": {}, "trace_id": "{}", "span_id": "{}", "caller": "{}", "model": "tiny-llama", "sample_id": "{}", "input_class": "{}", "scheduled_ns": {}, "send_ns": {}, "headers_ns": {}, "#,
            self.id,
            self.number,
            self.trace,
            self.span,
            self.caller,
            self.sample,
            self.class(),
            self.due + ahead,
            self.send + ahead,
            self.headers + ahead,
        )
    }

    /// The client's line of an answer.
    pub fn timeline(&self, ahead: i64) -> String {
        let mut line = self.timeline_head(ahead);
        let _ = writeln!(
            line,
            r#""first_chunk_ns": {}, "first_token_ns": {}, "last_token_ns": {}, "end_ns": {}, "input_tokens": {}, "output_tokens": {}, "max_tokens": {}, "finish_reason": "length", "status": 200, "error": null}}"#,
            self.first_chunk + ahead,
            self.first_token + ahead,
            self.last_token + ahead,
            self.end + ahead,
            self.input,
            self.output,
            self.output,
        );
        line
    }

    /// `AIPerf`'s line of an answer, had it been the client: the answer comes in chunks of a few tokens.
    pub fn aiperf(&self) -> String {
        let chunks = 15;
        let decode = self.last_token - self.first_token;
        let gap = decode / chunks;
        let gaps: Vec<String> = (1..=chunks)
            .map(|n| millis(if n < chunks { gap } else { decode - gap * (chunks - 1) }))
            .collect();
        let ttft = millis(self.first_token - self.send);
        format!(
            r#"{{"metadata":{{"session_num":{},"x_request_id":"{}","x_correlation_id":"{}","conversation_id":"{}","turn_index":0,"credit_issued_ns":{},"request_start_ns":{},"request_ack_ns":{},"request_end_ns":{},"worker_id":"worker_40997390","record_processor_id":"record_processor_07473793","benchmark_phase":"profiling","phase_index":0,"profiling_index":0,"phase_name":"profiling","phase_kind":"profiling","was_cancelled":false,"context_overflow_skip":false,"agent_depth":0,"root_correlation_id":"{}"}},"metrics":{{"request_latency":{{"value":{},"unit":"ms"}},"time_to_first_token":{{"value":{ttft},"unit":"ms"}},"usage_prompt_tokens":{{"value":{},"unit":"tokens"}},"input_sequence_length":{{"value":{},"unit":"tokens"}},"http_req_receiving":{{"value":{},"unit":"ms"}},"output_sequence_length":{{"value":{},"unit":"tokens"}},"http_req_connecting":{{"value":7.969377,"unit":"ms"}},"usage_completion_tokens":{{"value":{},"unit":"tokens"}},"http_req_dns_lookup":{{"value":0.0,"unit":"ms"}},"http_req_data_received":{{"value":4.380859375,"unit":"KB"}},"time_to_second_token":{{"value":{},"unit":"ms"}},"inter_chunk_latency":{{"value":[{}],"unit":"ms"}},"http_req_waiting":{{"value":{ttft},"unit":"ms"}},"http_req_blocked":{{"value":0.0,"unit":"ms"}},"http_req_sending":{{"value":0.461345,"unit":"ms"}},"http_req_chunks_received":{{"value":{chunks},"unit":"count"}},"time_to_first_output_token":{{"value":{ttft},"unit":"ms"}},"http_req_connection_reused":{{"value":0,"unit":"ratio"}}}}}}"#,
            self.number,
            self.id,
            self.trace,
            self.proxy_id,
            self.due,
            self.send,
            self.headers,
            self.end,
            self.trace,
            millis(self.last_token - self.send),
            self.input,
            self.input,
            millis(decode),
            self.output,
            self.output,
            millis(gap),
            gaps.join(","),
        ) + "\n"
    }

    /// The client's line of a refusal.
    pub fn refused_timeline(&self, ahead: i64) -> String {
        let mut line = self.timeline_head(ahead);
        let _ = writeln!(
            line,
            r#""first_chunk_ns": null, "first_token_ns": null, "last_token_ns": null, "end_ns": {}, "input_tokens": null, "output_tokens": null, "max_tokens": {}, "finish_reason": null, "status": 503, "error": "<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n<body>\r\n<center><h1>503 Service Temporarily Unavailable</h1></center>\r\n<hr><center>nginx/1.22.1</center>\r\n</body>\r\n</html>\r\n"}}"#,
            self.end + ahead,
            self.output,
        );
        line
    }

    fn access_line(&self, status: u16, request: &str, upstream: &str, limit: &str) -> String {
        let end = Timestamp::from_nanosecond(self.gateway_end.into()).unwrap_or_default();
        format!(
            r#"{{"time":"{}","msec":{},"request_id":"{}","x_request_id":"{}","traceparent":"00-{}-{}-01","caller":"{}","attempt":"{}","remote_addr":"127.0.0.1","method":"POST","uri":"/v1/chat/completions","status":{status},"request_length":{},"bytes_sent":{},"request_time":{request},{upstream},"limit_req_status":"","limit_conn_status":"{limit}","connection":{},"connection_requests":1,"user_agent":"Python/3.11 aiohttp/3.14.5"}}"#,
            end.strftime("%Y-%m-%dT%H:%M:%S+00:00"),
            ms(self.gateway_end),
            self.proxy_id,
            self.id,
            self.trace,
            self.span,
            self.caller,
            self.number,
            400 + self.input * 5,
            300 + self.output * 230,
            self.end % 65_536,
        ) + "\n"
    }

    /// The gateway's line of an answer.
    pub fn access(&self, engine: &Engine) -> String {
        let whole = ms(self.gateway_end - self.gateway / 1_000_000 * 1_000_000);
        let upstream = format!(
            r#""upstream_addr":"127.0.0.1:{}","upstream_status":"200","upstream_connect_time":"0.000","upstream_header_time":"{}","upstream_response_time":"{whole}""#,
            engine.port(),
            ms(self.headers - self.gateway),
        );
        self.access_line(200, &whole, &upstream, "PASSED")
    }

    /// The gateway's line of a refusal.
    pub fn refused_access(&self) -> String {
        let upstream = r#""upstream_addr":"","upstream_status":"","upstream_connect_time":"","upstream_header_time":"","upstream_response_time":"""#;
        self.access_line(503, "0.000", upstream, "REJECTED")
    }

    /// The engine's span.
    pub fn llm_request(&self, own: &str) -> String {
        format!(
            r#"{{"traceId":"{}","spanId":"{own}","parentSpanId":"{}","name":"llm_request","kind":2,"startTimeUnixNano":"{}","endTimeUnixNano":"{}","attributes":[{{"key":"gen_ai.latency.time_to_first_token","value":{{"doubleValue":{}}}}},{{"key":"gen_ai.latency.e2e","value":{{"doubleValue":{}}}}},{{"key":"gen_ai.latency.time_in_queue","value":{{"doubleValue":{}}}}},{{"key":"gen_ai.usage.prompt_tokens","value":{{"intValue":"{}"}}}},{{"key":"gen_ai.usage.completion_tokens","value":{{"intValue":"{}"}}}},{{"key":"gen_ai.latency.time_in_model_prefill","value":{{"doubleValue":{}}}}},{{"key":"gen_ai.latency.time_in_model_decode","value":{{"doubleValue":{}}}}},{{"key":"gen_ai.latency.time_in_model_inference","value":{{"doubleValue":{}}}}},{{"key":"gen_ai.request.id","value":{{"stringValue":"chatcmpl-{}"}}}},{{"key":"gen_ai.request.top_p","value":{{"doubleValue":1.0}}}},{{"key":"gen_ai.request.max_tokens","value":{{"intValue":"{}"}}}},{{"key":"gen_ai.request.n","value":{{"intValue":"1"}}}}],"status":{{}},"flags":768}}"#,
            self.trace,
            self.span,
            self.start,
            self.engine_end,
            seconds(self.ttft),
            seconds(self.engine_end - self.start),
            seconds(self.queue),
            self.input,
            self.output,
            seconds(self.prefill),
            seconds(self.decode),
            seconds(self.prefill + self.decode),
            self.id,
            self.output,
        )
    }
}

/// One export of spans.
pub fn export(engine: &Engine, spans: &[String]) -> String {
    format!(
        r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"telemetry.sdk.language","value":{{"stringValue":"python"}}}},{{"key":"telemetry.sdk.name","value":{{"stringValue":"opentelemetry"}}}},{{"key":"telemetry.sdk.version","value":{{"stringValue":"1.45.2"}}}},{{"key":"service.instance.id","value":{{"stringValue":"{}"}}}},{{"key":"service.name","value":{{"stringValue":"vllm-tiny-llama"}}}},{{"key":"vllm.instrumenting_module_name","value":{{"stringValue":"vllm.llm_engine"}}}},{{"key":"vllm.process_id","value":{{"stringValue":"{}"}}}}]}},"scopeSpans":[{{"scope":{{"name":"vllm.tracing.otel"}},"spans":[{}]}}]}}]}}"#,
        engine.id,
        3460 + engine.number,
        spans.join(","),
    ) + "\n"
}

/// The first lines of vLLM's log.
pub fn start_up(at: i64) -> String {
    let at = stamp(at);
    format!(
        "(APIServer pid=3460) INFO {at} [api_utils.py:347]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.32.0\n\
         (Worker pid=6126) INFO {at} [default_loader.py:501] Loading weights took 0.14 seconds\n\
         (APIServer pid=3460) INFO {at} [entry.py:140] Starting vLLM server on http://127.0.0.1:8001\n\
         (APIServer pid=3460) INFO:     Application startup complete.\n"
    )
}

/// What vLLM logs of itself every ten seconds.
pub fn statistics(at: i64, waiting: u64) -> String {
    format!(
        "(APIServer pid=3460) INFO {} [loggers.py:335] Engine 000: Avg prompt throughput: {}.5 tokens/s, Avg generation throughput: 66.9 tokens/s, Running: 8 reqs, Waiting: {waiting} reqs, CPU KV cache usage: {waiting}.1%\n",
        stamp(at),
        2_000 + waiting * 37,
    )
}

/// What vLLM's HTTP server logs of a request.
pub fn uvicorn(port: u64) -> String {
    format!("INFO:     127.0.0.1:{port} - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n")
}

/// A scrape of one instance.
pub fn metrics(sums: &Sums) -> String {
    let labels = r#"engine="0",model_name="tiny-llama""#;
    let mut text = format!(
        "# HELP vllm:num_requests_waiting Number of requests waiting to be processed.\n\
         # TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting{{{labels}}} 3.0\n"
    );
    for (name, ns) in [
        ("time_to_first_token", sums.ttft),
        ("request_queue_time", sums.queue),
        ("request_prefill_time", sums.prefill),
    ] {
        let _ = writeln!(text, "# TYPE vllm:{name}_seconds histogram");
        if name == "time_to_first_token" {
            for (below, (limit, _)) in sums.below.iter().zip(BUCKETS) {
                let _ = writeln!(
                    text,
                    r#"vllm:{name}_seconds_bucket{{engine="0",le="{limit}",model_name="tiny-llama"}} {below}.0"#
                );
            }
        }
        let _ = writeln!(text, "vllm:{name}_seconds_count{{{labels}}} {}.0", sums.count);
        let _ = writeln!(text, "vllm:{name}_seconds_sum{{{labels}}} {}", seconds(ns));
    }
    text
}

/// Seconds as Python prints a double.
#[expect(clippy::cast_precision_loss, reason = "Python measures in doubles")]
fn seconds(ns: i64) -> String {
    format!("{:?}", ns as f64 / 1e9)
}

/// Milliseconds with six decimals.
fn millis(ns: i64) -> String {
    format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000)
}

/// Seconds with three decimals, cut off as nginx does.
fn ms(ns: i64) -> String {
    format!("{}.{:03}", ns / 1_000_000_000, ns / 1_000_000 % 1_000)
}

fn stamp(at: i64) -> String {
    let at = Timestamp::from_nanosecond(at.into()).unwrap_or_default();
    at.strftime("%m-%d %H:%M:%S").to_string()
}
