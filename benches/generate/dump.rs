//! One long file of exposition text, as a federation or a backfill holds it: many series, each sample with its own time.

use super::random::Random;
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

const SERIES: u64 = 400;
const EVERY_MS: i64 = 15_000;

/// Writes so many samples, in the order of their time.
pub fn write(path: &Path, samples: u64, start_ms: i64, seed: u64) -> Result<()> {
    let mut random = Random(seed ^ 0xD0);
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    writeln!(out, "# TYPE vllm:request_queue_time_seconds histogram")?;
    let mut t = start_ms;
    for n in 0..samples {
        let (engine, bucket) = (n % SERIES / 20, n % 20);
        if n % SERIES == 0 {
            t += EVERY_MS;
        }
        let value = n / SERIES + random.bits() % 7;
        writeln!(
            out,
            r#"vllm:request_queue_time_seconds_bucket{{engine="{engine}",instance="10.0.3.{engine}:8000",le="{bucket}.5",model_name="tiny-llama"}} {value}.0 {t}"#
        )?;
    }
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
}
