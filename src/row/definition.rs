//! What a stated duration means: where it starts, where it ends, and whether it includes the server's queue.
//!
//! Six different things are called TTFT. A measure without a definition is refused, and two definitions
//! are never put in one column. Facts are from the sources named with each entry.

use super::Hop;

/// A definition of a duration that some tool states.
#[derive(Debug)]
pub struct Definition {
    /// Stable id, `<tool>.<quantity>`.
    pub id: &'static str,
    /// Hop whose clock measured it.
    pub hop: Hop,
    /// What it is a figure of: `ttft`, `queue`, `prefill`, `decode`, `e2e`, `wait`, `connect`, `header`, `send`.
    pub quantity: &'static str,
    /// The instant it starts at.
    pub from: &'static str,
    /// The instant it ends at.
    pub to: &'static str,
    /// Whether waiting for the server's scheduler is inside it; `None` when it does not apply.
    pub includes_queue: Option<bool>,
}

macro_rules! definitions {
    ($($id:literal $hop:ident $quantity:literal: $from:literal => $to:literal, queue $queue:expr;)+) => {
        /// Every definition a reader may state.
        pub static DEFINITIONS: &[Definition] = &[$(Definition {
            id: $id, hop: Hop::$hop, quantity: $quantity, from: $from, to: $to, includes_queue: $queue,
        },)+];
    };
}

definitions! {
    // Load generators: the clock starts at the write of the request, after any queue inside the client.
    "aiperf.ttft" Client "ttft": "request written" => "first token of any kind", queue Some(true);
    "aiperf.ttfo" Client "ttft_output": "request written" => "first output token that is not reasoning", queue Some(true);
    "aiperf.latency" Client "e2e": "request written" => "last chunk", queue Some(true);
    "aiperf.blocked" Client "pool": "request handed to the HTTP client" => "connection obtained", queue None;
    "aiperf.connecting" Client "connect": "connect begun" => "TCP and TLS established", queue None;
    "aiperf.sending" Client "send": "first byte written" => "last byte written", queue None;
    "aiperf.waiting" Client "header": "last byte written" => "first response byte", queue Some(true);
    "vllm-bench.ttft" Client "ttft": "request written, after the client's own semaphore" => "first chunk with choices", queue Some(true);
    "vllm-bench.latency" Client "e2e": "request written, after the client's own semaphore" => "last chunk", queue Some(true);
    "vllm-bench.queue" Client "client_wait": "request due" => "client's semaphore obtained", queue Some(false);
    "guidellm.ttft" Client "ttft": "request written" => "first token iteration", queue Some(true);
    "guidellm.ttfo" Client "ttft_output": "request written" => "first output token that is not reasoning", queue Some(true);
    "guidellm.latency" Client "e2e": "request written" => "request end", queue Some(true);
    "inference-perf.ttft" Client "ttft": "dispatched by a worker, retries included" => "first chunk whose text counts as a token", queue Some(true);
    "inference-perf.latency" Client "e2e": "dispatched by a worker, retries included" => "response end", queue Some(true);
    "inference-perf.schedule_delay" Client "client_wait": "request due" => "dispatched by a worker", queue Some(false);
    "llmperf.ttft" Client "ttft": "request written" => "first chunk with content", queue Some(true);
    "llmperf.latency" Client "e2e": "request written" => "response end", queue Some(true);
    // LoadGen's server scenario times a query from when it was due, so that its own lag counts too.
    "mlperf.ttft" Client "ttft": "query due" => "first token reported to LoadGen", queue Some(true);
    "mlperf.latency" Client "e2e": "query due" => "last token reported to LoadGen", queue Some(true);
    // nginx: $request_time and $upstream_*_time, seconds with ms, from ngx_http_log and ngx_http_upstream modules.
    "nginx.request" Gateway "e2e": "first byte from the client" => "last byte sent to the client", queue Some(true);
    "nginx.upstream" Gateway "upstream": "connect to the upstream begun" => "last byte from the upstream", queue Some(true);
    "nginx.upstream_connect" Gateway "connect": "connect to the upstream begun" => "connected", queue None;
    "nginx.upstream_header" Gateway "header": "connect to the upstream begun" => "response header received (not the first token)", queue None;
    // HAProxy timers, ms: configuration manual section 8.4.
    "haproxy.request" Gateway "request": "first byte of the request" => "request headers complete", queue None;
    "haproxy.wait" Gateway "wait": "request complete" => "left the proxy's queues", queue Some(false);
    "haproxy.connect" Gateway "connect": "connect to the server begun" => "connected", queue None;
    "haproxy.response" Gateway "header": "connected to the server" => "response header received (not the first token)", queue None;
    "haproxy.active" Gateway "e2e": "first byte of the request" => "last byte sent", queue Some(true);
    "haproxy.total" Gateway "connection": "connection accepted, idle time of a kept connection included" => "last byte sent", queue Some(true);
    // vLLM span llm_request, seconds; vllm/v1/metrics and design/metrics.
    "vllm.ttft" Engine "ttft": "arrival at the API server" => "first token seen by the API server", queue Some(true);
    "vllm.queue" Engine "queue": "request taken in by the engine core" => "most recent scheduling", queue Some(true);
    "vllm.prefill" Engine "prefill": "most recent scheduling" => "first new token", queue Some(false);
    "vllm.decode" Engine "decode": "first new token" => "last new token", queue Some(false);
    "vllm.inference" Engine "inference": "most recent scheduling" => "last new token", queue Some(false);
    "vllm.e2e" Engine "e2e": "arrival at the API server" => "finished", queue Some(true);
    // What inference-perf reads from the model server's own histograms, whichever server it is.
    "inference-perf.server_ttft" Engine "ttft": "arrival at the model server" => "first token, by the server's histogram", queue Some(true);
    "inference-perf.server_latency" Engine "e2e": "arrival at the model server" => "finished, by the server's histogram", queue Some(true);
    "inference-perf.server_queue" Engine "queue": "arrival at the model server" => "scheduled, by the server's histogram", queue Some(true);
    "inference-perf.server_prefill" Engine "prefill": "scheduled" => "first token, by the server's histogram", queue Some(false);
    // llama.cpp server `timings` and print_timing, ms: no queue or slot wait in them.
    "llama.prefill" Engine "prefill": "prompt processing begun" => "prompt processed, uncached tokens only", queue Some(false);
    "llama.decode" Engine "decode": "prompt processed" => "last token", queue Some(false);
    // What the author of a mapping says that a column of a table holds.
    "mapped.ttft" Client "ttft": "request written" => "first token of any kind at the client", queue Some(true);
    "mapped.e2e" Client "e2e": "request written" => "last chunk at the client", queue Some(true);
    "mapped.wait" Gateway "wait": "request complete at the gateway" => "forwarded to the service", queue Some(false);
    "mapped.queue" Engine "queue": "request accepted by the engine" => "taken up by its scheduler", queue Some(true);
    "mapped.prefill" Engine "prefill": "taken up by the scheduler" => "first token produced", queue Some(false);
    // A proxy that states its own overhead or spans.
    "litellm.proxy" Gateway "e2e": "request received by the proxy" => "end of the response", queue Some(true);
    "span.server" Gateway "e2e": "server span start" => "server span end", queue Some(true);
}

/// The definition with this id.
#[must_use]
pub fn definition(id: &str) -> Option<&'static Definition> {
    DEFINITIONS.iter().find(|d| d.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_name_their_tool() {
        let mut ids: Vec<_> = DEFINITIONS.iter().map(|d| d.id).collect();
        assert!(ids.iter().all(|id| id.split_once('.').is_some()));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), DEFINITIONS.len());
        assert!(definition("vllm.ttft").is_some_and(|d| d.includes_queue == Some(true)));
    }
}
