//! The report's names and the names shared by all tools.

/// Path of a metric within the figures of requests, and its shared name.
const METRICS: [(&str, &str); 11] = [
    ("latency.time_to_first_token", "ttft"),
    ("latency.request_latency", "e2e"),
    ("latency.time_per_output_token", "tpot"),
    ("latency.inter_token_latency", "itl"),
    ("latency.normalized_time_per_output_token", "normalized_time_per_output_token"),
    ("requests.input_length", "input_tokens"),
    ("requests.output_length", "output_tokens"),
    ("throughput.request_rate", "request_rate"),
    ("throughput.input_token_rate", "input_throughput"),
    ("throughput.output_token_rate", "output_throughput"),
    ("throughput.total_token_rate", "total_token_throughput"),
];

/// How 0.1 calls the same rates.
const OLD: [(&str, &str); 4] = [
    ("throughput.requests_rate", "request_rate"),
    ("throughput.input_tokens_rate", "input_throughput"),
    ("throughput.output_tokens_rate", "output_throughput"),
    ("throughput.total_tokens_rate", "total_token_throughput"),
];

/// The tools that the report is made from, and the definitions of their TTFT and latency.
const TOOLS: [(&str, &str, &str); 5] = [
    ("inference-perf", "inference-perf.ttft", "inference-perf.latency"),
    ("guidellm", "guidellm.ttft", "guidellm.latency"),
    ("vllm-benchmark", "vllm-bench.ttft", "vllm-bench.latency"),
    ("vllm-bench", "vllm-bench.ttft", "vllm-bench.latency"),
    ("aiperf", "aiperf.ttft", "aiperf.latency"),
];

/// The shared name of a metric.
pub fn metric(path: &str) -> Option<&'static str> {
    METRICS.iter().chain(&OLD).find(|(name, _)| *name == path).map(|(_, metric)| *metric)
}

/// What the tool means by `ttft` or `e2e`.
pub fn definition(tool: &str, metric: &str) -> Option<&'static str> {
    let (_, ttft, latency) = TOOLS.iter().find(|(name, ..)| *name == tool)?;
    Some(if metric == "ttft" { ttft } else { latency })
}
