//! What the messages of `SGLang`'s server log say: start-up steps, batches, and what goes wrong.

use super::decimal;

/// A message that becomes an event.
pub struct Said {
    /// Kind of the event.
    pub kind: &'static str,
    /// How long, when the message says so.
    pub duration_ns: Option<i64>,
}

/// The step or mishap that a message tells of.
#[must_use]
pub fn said(message: &str) -> Option<Said> {
    const STEPS: [(&str, &str); 13] = [
        ("Init torch distributed begin", "engine-init"),
        ("Load weight begin", "load-begin"),
        ("Load weight end", "weights-loaded"),
        ("KV Cache is allocated", "kv-cache-allocated"),
        ("INFO:     Uvicorn running on", "server-start"),
        ("Uvicorn running on", "server-start"),
        ("The server is fired up and ready to roll!", "ready"),
        ("KV cache pool is full. Retract requests.", "retracted"),
        ("Decode out of memory happened", "retracted"),
        ("Scheduler hit an exception", "log-error"),
        ("Health check failed", "health-fail"),
        ("Engine startup timings", "engine-ready"),
        ("SIGTERM received", "shutdown"),
    ];
    let step = STEPS.iter().find(|(start, _)| message.starts_with(start)).map(|(_, kind)| *kind);
    let capture = message.starts_with("Capture ").then(|| message.to_ascii_lowercase());
    let capture = capture.filter(|text| text.contains(" graph ")).and_then(|text| {
        let begun = text.contains(" begin.") || text.ends_with(" begin");
        let ended = text.contains(" end.") || text.ends_with(" end");
        if begun { Some("graph-capture-begin") } else { ended.then_some("graph-capture") }
    });
    let kind = step.or(capture)?;
    // The timings of the whole start list several durations, none of which is the event's.
    let duration_ns = if kind == "engine-ready" { None } else { elapsed(message) };
    Some(Said { kind, duration_ns })
}

/// `elapsed=1.97 s` or `Time elapsed: 3.74 s`.
fn elapsed(message: &str) -> Option<i64> {
    let rest = message.split_once("elapsed")?.1.trim_start_matches(['=', ':', ' ']);
    let (number, unit) = rest.split_once(' ')?;
    unit.starts_with('s').then(|| decimal::to_ns(number, decimal::S)).flatten()
}

/// The figures of a batch line: metric and value. Names are those of the vLLM log's samples where both have the figure.
pub fn batch(message: &str) -> impl Iterator<Item = (&'static str, f64)> {
    let figures = message.strip_prefix("Prefill batch").or_else(|| message.strip_prefix("Decode batch"));
    // Older releases number the batches, or write a full stop: `Prefill batch [12], #new-seq: 1`.
    let figures = figures.and_then(|rest| Some(rest.split_once('#')?.1)).unwrap_or("");
    figures.split(',').filter_map(|figure| {
        let (name, value) = figure.rsplit_once(": ")?;
        let metric = match name.trim().trim_start_matches('#') {
            "new-seq" => "sglang_log:prefill_requests",
            "new-token" => "sglang_log:prefill_tokens",
            "cached-token" => "sglang_log:cached_tokens",
            "token usage" | "full token usage" => "sglang_log:kv_cache_usage",
            "running-req" => "sglang_log:running",
            "queue-req" => "sglang_log:waiting",
            "pending-token" => "sglang_log:waiting_tokens",
            "retracted-req" => "sglang_log:retracted",
            "input throughput (token/s)" => "sglang_log:prompt_tokens_per_s",
            "gen throughput (token/s)" => "sglang_log:generation_tokens_per_s",
            _ => return None,
        };
        value.trim().parse().ok().filter(|value: &f64| value.is_finite()).map(|value| (metric, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_all_releases_are_known_with_their_durations() {
        let step = |message| said(message).map(|said| (said.kind, said.duration_ns));
        let seconds = |s| decimal::to_ns(s, decimal::S);
        assert_eq!(
            step("Load weight end. elapsed=605.50 s, type=K, avail mem=210.38 GB"),
            Some(("weights-loaded", seconds("605.5")))
        );
        assert_eq!(
            step("Load weight end. type=LlamaForCausalLM, avail mem=1 GB"),
            Some(("weights-loaded", None))
        );
        assert_eq!(
            step("Capture cuda graph end. Time elapsed: 3.74 s. mem usage=0.60 GB."),
            Some(("graph-capture", seconds("3.74")))
        );
        assert_eq!(
            step("Capture target decode CUDA graph end. elapsed=22.18 s, mem usage=1.91 GB"),
            Some(("graph-capture", seconds("22.18")))
        );
        assert_eq!(
            step("Capture piecewise CUDA graph begin. avail mem=23.54 GB"),
            Some(("graph-capture-begin", None))
        );
        assert_eq!(step("Capture cuda graph bs [1, 2, 4]"), None);
        assert_eq!(step("Using KV cache dtype: torch.bfloat16"), None);
    }

    #[test]
    fn batches_of_all_releases_are_figures() {
        let old = "Decode batch. #running-req: 18, #token: 9000, token usage: 0.96, gen throughput (token/s): 1055.30, #queue-req: 43";
        assert_eq!(
            batch(old).collect::<Vec<_>>(),
            [
                ("sglang_log:running", 18.0),
                ("sglang_log:kv_cache_usage", 0.96),
                ("sglang_log:generation_tokens_per_s", 1055.3),
                ("sglang_log:waiting", 43.0),
            ]
        );
        assert_eq!(
            batch("Prefill batch [7], #new-seq: 2, cuda graph: False").collect::<Vec<_>>(),
            [("sglang_log:prefill_requests", 2.0)]
        );
        assert_eq!(batch("Prefill the cache, #queue-req: 1").count(), 0);
        assert_eq!(batch("Decode batch, #queue-req: nan, #running-req: x").count(), 0);
    }
}
