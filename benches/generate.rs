//! A trial of any size in the formats of a real one: client timeline, nginx access log, vLLM's spans, log and metrics.
//!
//! The files agree with each other: same ids, and times drawn once for each request. The client's clock is 1.7 s
//! ahead. In one window of time requests queue, those of one caller longest. One request in 200 is refused by the
//! gateway, and most of these are tried again. The same seed gives the same bytes (on one platform: `ln` and `exp`
//! are those of its maths library).

#![allow(dead_code, reason = "each bench uses what it needs")]

mod dump;
mod lines;
mod random;

use lines::{Attempt, Engine};
use random::Random;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::{Path, PathBuf};

const MS: f64 = 1e6;
const SECOND: i64 = 1_000_000_000;
/// Midnight UTC of some day.
const START: i64 = 1_796_083_200 * SECOND;
/// What the client's clock is ahead.
const AHEAD: i64 = 1_700_000_000;
/// Requests a second.
const RATE: f64 = 20.0;
const CALLERS: [&str; 6] =
    ["web-chat", "mobile-app", "batch-reports", "site-search", "code-review", "mail-digest"];
const STALLED: &str = "batch-reports";
const REFUSED: f64 = 0.005;
const STATISTICS: i64 = 10 * SECOND;
const SCRAPES: i64 = 6;

/// The long file of exposition text.
const DUMP: &str = "dump.prom";

/// Where the files of a generated trial are.
pub struct Data {
    /// Client timeline.
    pub client: PathBuf,
    /// nginx access log.
    pub gateway: PathBuf,
    /// vLLM's spans.
    pub spans: PathBuf,
    /// vLLM's log.
    pub log: PathBuf,
    /// Scrapes of vLLM's metrics.
    pub metrics: Vec<PathBuf>,
    /// Every second request as `AIPerf` would have recorded it.
    pub aiperf: PathBuf,
    /// Many samples of many series in one file, eight a request.
    pub dump: PathBuf,
}

/// The trial of so many requests in `folder`, written unless it is there already.
pub fn generate(folder: &Path, requests: u64, seed: u64) -> Result<Data> {
    let home = folder.join(format!("trial-{requests}-{seed}"));
    if !home.exists() {
        let partial = folder.join(format!("trial-{requests}-{seed}.partial"));
        std::fs::create_dir_all(partial.join("metrics"))?;
        dump::write(&partial.join(DUMP), requests * 8, START / 1_000_000, seed)?;
        Trial::new(&partial, requests, seed)?.write(requests)?;
        std::fs::rename(&partial, &home)?;
    }
    let mut metrics: Vec<PathBuf> =
        std::fs::read_dir(home.join("metrics"))?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    metrics.sort();
    Ok(Data {
        client: home.join("timeline.jsonl"),
        gateway: home.join("access.jsonl"),
        spans: home.join("traces.otlp.jsonl"),
        log: home.join("vllm.log"),
        metrics,
        aiperf: home.join("profile_export.jsonl"),
        dump: home.join(DUMP),
    })
}

/// Lines of what began in order and ended in another, written in the order of their ends as a log is.
struct Late {
    held: BTreeMap<(i64, u64), String>,
    next: u64,
}

impl Late {
    const fn new() -> Late {
        Late { held: BTreeMap::new(), next: 0 }
    }

    fn hold(&mut self, end: i64, line: String) {
        self.held.insert((end, self.next), line);
        self.next += 1;
    }

    /// The next line that ended before `now`.
    fn pop(&mut self, now: i64) -> Option<String> {
        let first = self.held.first_entry()?;
        (first.key().0 < now).then(|| first.remove())
    }
}

/// One instance of the engine: its spans wait for the next export, its counters for the next scrape.
struct Instance {
    name: Engine,
    ended: Late,
    batch: Vec<String>,
    sums: lines::Sums,
}

struct Trial {
    random: Random,
    folder: PathBuf,
    client: (Late, BufWriter<File>),
    gateway: (Late, BufWriter<File>),
    aiperf: (Late, BufWriter<File>),
    spans: BufWriter<File>,
    log: BufWriter<File>,
    instances: Vec<Instance>,
    stall: (i64, i64),
    end: i64,
}

impl Trial {
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "a length of time")]
    fn new(folder: &Path, requests: u64, seed: u64) -> Result<Trial> {
        let mut random = Random(seed);
        let file = |name: &str| File::create(folder.join(name)).map(|f| BufWriter::with_capacity(1 << 20, f));
        let span = (requests as f64 / RATE * SECOND as f64) as i64;
        let instances = (0..4)
            .map(|number| Instance {
                name: Engine { id: random.hex32(), number },
                ended: Late::new(),
                batch: Vec::new(),
                sums: lines::Sums::default(),
            })
            .collect();
        Ok(Trial {
            random,
            folder: folder.to_path_buf(),
            client: (Late::new(), file("timeline.jsonl")?),
            gateway: (Late::new(), file("access.jsonl")?),
            aiperf: (Late::new(), file("profile_export.jsonl")?),
            spans: file("traces.otlp.jsonl")?,
            log: file("vllm.log")?,
            instances,
            stall: (START + span / 10 * 6, START + span / 10 * 7),
            end: START + span,
        })
    }

    fn write(mut self, requests: u64) -> Result<()> {
        let mut due = START;
        let (mut statistics, mut scrape) = (START, START);
        let every = (self.end - START) / (SCRAPES - 1);
        self.log.write_all(lines::start_up(START).as_bytes())?;
        for number in 0..requests {
            due += self.random.exponential(1e9 / RATE);
            self.release(due)?;
            while statistics < due {
                statistics += STATISTICS;
                let waiting = self.random.bits() % 9;
                self.log.write_all(lines::statistics(statistics, waiting).as_bytes())?;
            }
            if scrape < due || number + 1 == requests {
                let name = format!("metrics/metrics_{}.prom", due / 1_000_000);
                std::fs::write(self.folder.join(name), lines::metrics(&self.instances[0].sums))?;
                scrape += every;
            }
            self.request(number, due)?;
        }
        self.release(i64::MAX)?;
        for at in 0..self.instances.len() {
            self.export(at)?;
        }
        for file in [self.client.1, self.gateway.1, self.aiperf.1, self.spans, self.log] {
            file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
        }
        Ok(())
    }

    /// Writes what ended before `now`.
    fn release(&mut self, now: i64) -> Result<()> {
        for (late, out) in [&mut self.client, &mut self.gateway, &mut self.aiperf] {
            while let Some(line) = late.pop(now) {
                out.write_all(line.as_bytes())?;
            }
        }
        for at in 0..self.instances.len() {
            while let Some(span) = self.instances[at].ended.pop(now) {
                self.instances[at].batch.push(span);
                // Exports hold 8 spans on average.
                if self.random.chance(0.125) {
                    self.export(at)?;
                }
            }
        }
        Ok(())
    }

    fn export(&mut self, at: usize) -> Result<()> {
        let instance = &mut self.instances[at];
        if instance.batch.is_empty() {
            return Ok(());
        }
        let line = lines::export(&instance.name, &instance.batch);
        instance.batch.clear();
        self.spans.write_all(line.as_bytes())
    }

    /// One request with all its attempts.
    fn request(&mut self, number: u64, due: i64) -> Result<()> {
        let caller = *self.random.pick(&CALLERS);
        let input = (self.random.lognormal(400.0, 1.1)).clamp(8, 16_000);
        let output = (self.random.lognormal(120.0, 0.8)).clamp(1, 2_000);
        let mut a = Attempt {
            id: format!("b-{}-{number:07}", &caller[..3]),
            trace: self.random.hex32(),
            span: self.random.hex16(),
            proxy_id: self.random.hex32(),
            sample: self.random.hex16(),
            caller,
            input,
            output,
            due,
            send: due + self.random.exponential(0.6 * MS),
            ..Attempt::default()
        };
        while self.random.chance(REFUSED) {
            self.refuse(&mut a);
            if a.number == 2 || self.random.chance(0.25) {
                return Ok(());
            }
            a.number += 1;
            (a.span, a.proxy_id) = (self.random.hex16(), self.random.hex32());
            a.send = a.end + self.random.lognormal(600.0 * MS, 0.3);
        }
        self.serve(&mut a)
    }

    fn refuse(&mut self, a: &mut Attempt) {
        a.gateway = a.send + self.random.lognormal(0.8 * MS, 0.4);
        a.gateway_end = a.gateway + self.random.exponential(0.3 * MS);
        a.headers = a.gateway_end + self.random.lognormal(0.8 * MS, 0.4);
        a.end = a.headers + self.random.exponential(0.1 * MS);
        self.client.0.hold(a.end, a.refused_timeline(AHEAD));
        self.gateway.0.hold(a.gateway_end, a.refused_access());
    }

    #[expect(clippy::cast_precision_loss, reason = "token counts are small")]
    fn serve(&mut self, a: &mut Attempt) -> Result<()> {
        let r = &mut self.random;
        a.gateway = a.send + r.lognormal(0.8 * MS, 0.4);
        a.start = a.gateway + r.lognormal(1.5 * MS, 0.5);
        a.headers = a.start + r.lognormal(6.0 * MS, 0.5);
        let stalled = (self.stall.0..self.stall.1).contains(&a.due);
        a.queue = match (stalled, a.caller) {
            (false, _) => r.exponential(4.0 * MS),
            (true, STALLED) => r.lognormal(5_000.0 * MS, 0.5),
            (true, _) => r.lognormal(1_200.0 * MS, 0.6),
        };
        a.prefill = r.lognormal(15.0 * MS + a.input as f64 / 6_000.0 * 1e9, 0.2);
        a.ttft = r.exponential(20.0 * MS) + a.queue + a.prefill;
        a.decode = r.lognormal(a.output as f64 * 12.0 * MS, 0.15);
        a.engine_end = a.start + a.ttft + a.decode + r.exponential(0.5 * MS);
        a.first_chunk = (a.start + a.ttft + r.lognormal(1.0 * MS, 0.5)).max(a.headers);
        a.first_token = a.first_chunk + r.exponential(0.02 * MS);
        a.gateway_end = a.engine_end + r.lognormal(0.8 * MS, 0.4);
        a.last_token = (a.start + a.ttft + a.decode + r.lognormal(1.0 * MS, 0.5)).max(a.first_token);
        a.end = a.last_token.max(a.gateway_end) + r.lognormal(1.0 * MS, 0.4);
        let (own_span, at, port) = (r.hex16(), r.bits() % 4, 40_000 + r.bits() % 20_000);
        let instance = &mut self.instances[usize::try_from(at).unwrap_or(0)];
        self.client.0.hold(a.end, a.timeline(AHEAD));
        self.gateway.0.hold(a.gateway_end, a.access(&instance.name));
        if a.due % 2 == 0 {
            self.aiperf.0.hold(a.end, a.aiperf());
        }
        instance.ended.hold(a.engine_end, a.llm_request(&own_span));
        instance.sums.add(a);
        if at == 0 {
            self.log.write_all(lines::uvicorn(port).as_bytes())?;
        }
        Ok(())
    }
}
