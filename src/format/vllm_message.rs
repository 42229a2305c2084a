//! What the messages of vLLM's logger say: start-up steps, arrivals, statistics, and arguments without secrets.

use super::decimal;
use regex::Regex;
use std::sync::LazyLock;

/// A message that becomes an event.
pub struct Said<'a> {
    /// Kind of the event.
    pub kind: &'static str,
    /// How long, when the message says so.
    pub duration_ns: Option<i64>,
    /// What of the message may be kept.
    pub detail: &'a str,
}

/// The step, arrival or banner that a message tells of.
#[must_use]
pub fn said(message: &str) -> Option<Said<'_>> {
    const STEPS: [(&str, &str); 14] = [
        ("Starting to load model", "load-begin"),
        ("Loading weights took", "weights-loaded"),
        ("Model loading took", "model-loaded"),
        ("Loading model weights took", "model-loaded"),
        ("Dynamo bytecode transform time", "compile"),
        ("Directly load the compiled graph", "compile"),
        ("Compiling a graph", "compile"),
        ("torch.compile t", "compile"),
        ("Capturing the model for CUDA graphs", "graph-capture-begin"),
        ("Graph capturing finished", "graph-capture"),
        ("GPU KV cache size", "kv-cache-allocated"),
        ("# GPU blocks", "kv-cache-allocated"),
        ("init engine", "engine-ready"),
        ("Starting vLLM", "server-start"),
    ];
    let says = |kind, detail| Some(Said { kind, duration_ns: None, detail });
    if let Some((_, kind)) = STEPS.iter().find(|(start, _)| message.starts_with(start)) {
        return Some(Said { kind, duration_ns: seconds(message), detail: message });
    }
    if let Some(rest) = message.strip_prefix("Received request ") {
        // The rest holds sampling parameters and, in older versions, the prompt.
        return says("request-received", rest.split(": ").next().unwrap_or_default().trim_end_matches(':'));
    }
    for (start, kind) in [("Finished request ", "request-finished"), ("Aborted request ", "request-aborted")]
    {
        if let Some(rest) = message.strip_prefix(start) {
            return says(
                kind,
                rest.split([' ', ',']).next().unwrap_or_default().trim_end_matches(['.', ':']),
            );
        }
    }
    if message.starts_with("Sequence group ") && message.contains(" is preempted by ") {
        return says("preempted", message);
    }
    // A shape that the warm-up did not meet: the requests of that moment wait for the compiler.
    if message.contains("JIT compilation during inference") {
        return says("jit-compile", message);
    }
    if let Some(args) = message.strip_prefix("non-default args: ").or_else(|| message.strip_prefix("args: "))
    {
        return says("args", args);
    }
    if message.starts_with("Initializing a") && message.contains("LLM engine (") {
        return says("engine-init", message.split(" with config").next().unwrap_or_default());
    }
    // The version stands beside a logo of block characters, in older versions in a plain line.
    let banner = message.contains('█') || message.starts_with("vLLM API server ");
    let at = message.find("version ").filter(|_| banner)?;
    says("start", message[at..].trim_ascii())
}

/// The first number of seconds in a message.
fn seconds(message: &str) -> Option<i64> {
    let words: Vec<_> = message.split_ascii_whitespace().collect();
    let unit =
        |word: &str| matches!(word.trim_end_matches([',', '.', ')']), "s" | "sec" | "secs" | "seconds");
    words.windows(2).filter(|pair| unit(pair[1])).find_map(|pair| decimal::to_ns(pair[0], decimal::S))
}

/// The figures of a statistics message: metric, engine, value. Percentages become parts of one.
pub fn samples(message: &str) -> impl Iterator<Item = (&'static str, Option<&str>, f64)> {
    let (engine, figures) = match message.strip_prefix("Engine ").and_then(|rest| rest.split_once(": ")) {
        Some((engine, figures)) => (Some(engine), figures),
        None => (None, message),
    };
    let figures = if figures.starts_with("Avg prompt throughput: ") { figures } else { "" };
    // V0 states the swap space in the host's memory beside the cache; on a CPU it is the cache.
    let swap_space = figures.contains("GPU KV cache usage: ");
    figures.split(", ").filter_map(move |figure| {
        let (name, value) = figure.split_once(": ")?;
        let metric = match name {
            "Avg prompt throughput" => "vllm_log:prompt_tokens_per_s",
            "Avg generation throughput" => "vllm_log:generation_tokens_per_s",
            "Running" => "vllm_log:running",
            "Waiting" | "Pending" => "vllm_log:waiting",
            "Deferred" => "vllm_log:deferred",
            "Swapped" => "vllm_log:swapped",
            "Preemptions" => "vllm_log:preemptions",
            "CPU KV cache usage" if swap_space => "vllm_log:swap_space_usage",
            "GPU KV cache usage" | "CPU KV cache usage" => "vllm_log:kv_cache_usage",
            "External prefix cache hit rate" => "vllm_log:external_prefix_cache_hit_rate",
            "Prefix cache hit rate" => "vllm_log:prefix_cache_hit_rate",
            _ => return None,
        };
        let number = value.split([' ', '%']).next()?;
        // Read as written, a hundredth: a division would leave digits that nobody wrote.
        let value = if value.ends_with('%') { format!("{number}e-2").parse() } else { number.parse() };
        Some((metric, engine, value.ok()?))
    })
}

/// Arguments with the values of keys that name secrets replaced.
#[must_use]
pub fn masked(args: &str) -> String {
    static SECRET: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let key = r#"(?i)(\b[\w.-]*(?:key|password|passwd|secret|credential|token\b)[\w.-]*['"]?\s*[:=]\s*)"#;
        let value = r#"(?:[\[(\{][^\])}]*[\])}]|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^,)}\]\s]+)"#;
        Regex::new(&format!("{key}{value}")).ok()
    });
    SECRET.as_ref().map_or(String::new(), |secret| secret.replace_all(args, "${1}***").into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(message: &str) -> Option<(&'static str, Option<i64>)> {
        said(message).map(|said| (said.kind, said.duration_ns))
    }

    #[test]
    fn steps_of_all_versions_are_known_with_their_durations() {
        let seconds = |s: f64| decimal::seconds(s);
        assert_eq!(
            step("Model loading took 14.98 GiB and 20.3 seconds"),
            Some(("model-loaded", seconds(20.3)))
        );
        assert_eq!(step("Loading model weights took 1.4123 GB"), Some(("model-loaded", None)));
        assert_eq!(step("Dynamo bytecode transform time: 5.19 s"), Some(("compile", seconds(5.19))));
        assert_eq!(step("torch.compile takes 24.36 s in total"), Some(("compile", seconds(24.36))));
        assert_eq!(
            step("Graph capturing finished in 25 secs, took 0.62 GiB"),
            Some(("graph-capture", seconds(25.0)))
        );
        assert_eq!(step("vLLM API server version 0.8.5"), Some(("start", None)));
        assert_eq!(step("Added request chatcmpl-1."), None);
        assert_eq!(step("Aborted request chatcmpl-1."), Some(("request-aborted", None)));
        assert_eq!(step("GPU KV cache size: 992,896 tokens"), Some(("kv-cache-allocated", None)));
        let preempted =
            "Sequence group 0 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV";
        assert_eq!(step(preempted), Some(("preempted", None)));
        let jit = "Triton kernel JIT compilation during inference: _zero_kv_blocks_kernel. This causes a latency spike";
        assert_eq!(step(jit), Some(("jit-compile", None)));
        let prompt = "Received request cmpl-7: prompt: 'a: b', params: x";
        assert_eq!(said(prompt).map(|said| said.detail), Some("cmpl-7"));
    }

    #[test]
    fn statistics_of_older_versions_are_read_and_percentages_are_parts_of_one() {
        let message = "Avg prompt throughput: 1.5 tokens/s, Avg generation throughput: 2.0 tokens/s, \
                       Running: 18 reqs, Swapped: 2 reqs, Pending: 4 reqs, GPU KV cache usage: 12.3%, \
                       CPU KV cache usage: 0.5%, Prefix cache hit rate: nan%";
        let figures: Vec<_> = samples(message).collect();
        assert_eq!(
            figures,
            [
                ("vllm_log:prompt_tokens_per_s", None, 1.5),
                ("vllm_log:generation_tokens_per_s", None, 2.0),
                ("vllm_log:running", None, 18.0),
                ("vllm_log:swapped", None, 2.0),
                ("vllm_log:waiting", None, 4.0),
                ("vllm_log:kv_cache_usage", None, 0.123),
                ("vllm_log:swap_space_usage", None, 0.005),
            ]
        );
        assert_eq!(samples("Engine 000 started, Running: 1 reqs").count(), 0);
    }

    #[test]
    fn secrets_in_arguments_are_masked_and_the_rest_stays() {
        let args = "{'api_key': ['sk-1', 'sk-2'], 'hf_token': 'it''s', 'tokenizer': '/m', 'ssl_keyfile': \"/k\", \
                    'max_num_batched_tokens': 8192, 'port': 8000, 'password': None}";
        let kept = "{'api_key': ***, 'hf_token': ***'s', 'tokenizer': '/m', 'ssl_keyfile': ***, \
                    'max_num_batched_tokens': 8192, 'port': 8000, 'password': ***}";
        assert_eq!(masked(args), kept);
        assert_eq!(masked("Namespace(api_key=sk-1, model='m')"), "Namespace(api_key=***, model='m')");
    }
}
