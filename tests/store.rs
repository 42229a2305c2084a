//! The store under stress: killed, contended, out of space, misaddressed; never half-written.

use crate::support::{AS_OF, Ran, Trial, checkout, digest, probity, run, sample, skip};
use probity::input::sha256_hex;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// A client timeline of about `mib` MiB: the lines of a sample over and over, under ids and at times of
/// their own.
fn big_timeline(folder: &Path, mib: usize) -> PathBuf {
    let sample = String::from_utf8(sample("client_timeline/rate_limited.jsonl")).unwrap();
    let lines: Vec<&str> = sample.lines().collect();
    let mut text = String::new();
    let mut n = 0;
    while text.len() < mib << 20 {
        for line in &lines {
            let line = line.replacen("\"request_id\": \"", &format!("\"request_id\": \"copy-{n}-"), 1);
            let line = line.replace("_ns\": 17960", &format!("_ns\": 1{:04}", 7000 + n * 7919 % 3000));
            let trace = sha256_hex(line.as_bytes());
            let (before, after) = line.split_once("\"trace_id\": \"").unwrap();
            writeln!(text, "{before}\"trace_id\": \"{}{}", &trace[..32], &after[32..]).unwrap();
        }
        n += 1;
    }
    let path = folder.join("big.jsonl");
    std::fs::write(&path, text).unwrap();
    path
}

fn small() -> PathBuf {
    checkout("samples/client_timeline/retries.jsonl")
}

fn no_leftovers(trial: &Trial) {
    let files: BTreeMap<_, _> = trial.digest();
    let left: Vec<_> =
        files.keys().filter(|name| !name.ends_with(".parquet") && name.contains('/')).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(!trial.path().join("tables/.partial").exists());
    custody_holds(trial);
}

fn custody_holds(trial: &Trial) {
    let entries = probity::store::verify_custody(&trial.path().join("evidence")).unwrap();
    let sources = trial.run(["sources", "--json"]).exits(0).json();
    assert_eq!(entries, sources.as_array().unwrap().len());
}

#[test]
fn a_killed_load_leaves_no_trace_once_it_is_run_again() {
    let folder = tempfile::tempdir().unwrap();
    let files = [small(), big_timeline(folder.path(), 48)];
    let whole = Trial::new();
    let began = Instant::now();
    whole.load(&files, &[]).exits(0);
    let took = began.elapsed();
    no_leftovers(&whole);
    let want = whole.digest();
    let mut killed = 0;
    for percent in [3, 20, 45, 70, 90] {
        let trial = Trial::new();
        let mut child = trial
            .command(["load", "--candidate", "c", "--as-of", AS_OF])
            .args(&files)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(took * percent / 100);
        child.kill().unwrap();
        killed += u32::from(!child.wait().unwrap().success());
        trial.load(&files, &[]).exits(0);
        assert_eq!(trial.digest(), want, "killed after {percent} % of {took:?}");
        no_leftovers(&trial);
    }
    assert!(killed > 0, "every load was done before it could be killed");
}

#[test]
fn a_store_in_use_is_refused_and_free_again_afterwards() {
    let trial = Trial::new();
    trial.load(&[small()], &[]).exits(0);
    let before = trial.digest();
    let lock = std::fs::File::options().write(true).open(trial.path().join("tables/.lock")).unwrap();
    lock.lock().unwrap();
    let refused = trial.load(&[checkout("samples/client_timeline/rate_limited.jsonl")], &[]).exits(3);
    assert!(refused.err.contains("another probity is loading into"), "{}", refused.err);
    assert_eq!(trial.digest(), before);
    drop(lock);
    trial.load(&[checkout("samples/client_timeline/rate_limited.jsonl")], &[]).exits(0);
}

#[test]
fn two_loads_at_once_end_in_order() {
    let trial = Trial::new();
    let files = [small(), checkout("samples/client_timeline/rate_limited.jsonl")];
    let children: Vec<_> = files
        .iter()
        .map(|file| {
            let mut command = trial.command(["load", "--candidate", "c", "--as-of", AS_OF]);
            command.arg(file).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        })
        .collect();
    let codes: Vec<_> = children.into_iter().map(|mut child| child.wait().unwrap().code().unwrap()).collect();
    assert!(codes.contains(&0) && codes.iter().all(|code| [0, 3].contains(code)), "{codes:?}");
    trial.load(&files, &[]).exits(0);
    no_leftovers(&trial);
    assert_eq!(trial.sql("SELECT DISTINCT source FROM request").len(), 2);
}

/// A small disk of its own, gone when dropped.
struct Disk(tempfile::TempDir);

impl Disk {
    fn of(size: &str) -> Option<Disk> {
        let folder = tempfile::tempdir().unwrap();
        let option = format!("size={size}");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &option, "tmpfs"]).arg(folder.path()).output();
        mounted.is_ok_and(|done| done.status.success()).then(|| Disk(folder))
    }

    fn grow(&self, size: &str) {
        let option = format!("remount,size={size}");
        assert!(Command::new("mount").args(["-o", &option]).arg(self.0.path()).status().unwrap().success());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// A full disk while the original is kept, and one while tables are written.
#[test]
fn a_full_disk_is_said_and_costs_nothing_loaded_before() {
    let folder = tempfile::tempdir().unwrap();
    let big = big_timeline(folder.path(), 16);
    let roomy = Trial::new();
    roomy.load(std::slice::from_ref(&big), &[]).exits(0);
    let bytes_in = |folder: PathBuf| -> u64 {
        let entries = walkdir::WalkDir::new(folder).into_iter().map(|e| e.unwrap().metadata().unwrap());
        entries.filter(std::fs::Metadata::is_file).map(|m| m.len()).sum()
    };
    let (original, tables) = (std::fs::metadata(&big).unwrap().len(), bytes_in(roomy.path().join("tables")));
    let slack = 128 << 10;
    assert!(tables > 2 * slack, "{tables} bytes of tables are too few to run out of space between");
    for size in [original / 2, original + slack + tables / 4] {
        let Some(disk) = Disk::of(&size.to_string()) else { return skip("cannot mount") };
        let load = |file: &Path| -> Ran {
            let mut command = probity(["-C".as_ref(), disk.0.path().as_os_str()]);
            command.args(["load", "--candidate", "c", "--as-of", AS_OF]).arg(file);
            run(&mut command)
        };
        load(&small()).exits(0);
        let tables = disk.0.path().join("tables");
        let before = digest(&tables);
        let full = load(&big).exits(3);
        assert!(full.err.contains("free some space and run the command again"), "{size}: {}", full.err);
        assert_eq!(digest(&tables), before, "{size}");
        disk.grow("200m");
        load(&big).exits(0);
        let after = digest(&tables);
        assert!(
            before.iter().all(|(name, hash)| after.get(name) == Some(hash)) && after.len() > before.len()
        );
    }
}

#[test]
fn a_file_that_cannot_be_read_costs_nothing() {
    let trial = Trial::new();
    let missing = trial.path().join("no-such-file.jsonl");
    let ran = trial.load(&[small(), missing], &[]).exits(2);
    assert!(ran.err.contains("no-such-file.jsonl") && ran.err.contains("check the path"), "{}", ran.err);
    assert!(!trial.path().join("tables").exists(), "nothing is written before every path was tried");
    let closed = trial.file("closed.jsonl", b"{}");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).unwrap();
        if std::fs::File::open(&closed).is_ok() {
            return skip("this user reads everything");
        }
        let ran = trial.load(&[closed], &[]).exits(2);
        assert!(ran.err.contains("make the file readable"), "{}", ran.err);
    }
}

#[test]
fn reading_again_with_another_zone_replaces_the_rows() {
    let trial = Trial::new();
    let log = [checkout("samples/vllm_log/vllm.log")];
    let first = |trial: &Trial| trial.sql("SELECT MIN(t_ns) AS t, COUNT(*) AS n FROM event")[0].clone();
    trial.load(&log, &["--tz", "UTC"]).exits(0);
    let (utc, files) = (first(&trial), trial.digest());
    trial.load(&log, &["--tz", "+08:00"]).exits(0);
    let east = first(&trial);
    let hours = (utc["t"].as_i64().unwrap() - east["t"].as_i64().unwrap()) / 3_600_000_000_000;
    assert_eq!((hours, &utc["n"]), (8, &east["n"]));
    assert_eq!(trial.digest().len(), files.len(), "parts are replaced, not added");
    trial.load(&log, &["--tz", "UTC"]).exits(0);
    assert_eq!(trial.digest(), files);
    custody_holds(&trial);
}
