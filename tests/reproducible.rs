//! The same trial and the same binary give the same bytes, wherever, whenever and in whatever order.

use crate::support::{AS_OF, Trial, checkout, digest, probity, run, skip};
use probity::input::walk;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Everything the demo leaves behind but locks.
fn demo(inside: &Path, folder: &Path, settings: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut command = probity(["demo".as_ref(), folder.as_os_str(), "--as-of".as_ref(), AS_OF.as_ref()]);
    run(command.current_dir(inside).envs(settings.iter().copied())).exits(0);
    digest(&inside.join(folder))
}

#[test]
fn neither_place_nor_zone_nor_language_show() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let one = demo(here.path(), Path::new("demo"), &[("TZ", "UTC"), ("LANG", "C")]);
    for file in ["report/report.en.html", "report/report.zh-CN.html", "report/diagnosis.json"] {
        assert!(one.contains_key(file), "{file} is missing");
    }
    let other = demo(
        there.path(),
        &there.path().join("deep/er"),
        &[("TZ", "Asia/Kathmandu"), ("LANG", "zh_CN.UTF-8"), ("LC_ALL", "tr_TR.UTF-8"), ("COLUMNS", "20")],
    );
    assert_eq!(one, other);
}

#[test]
fn one_core_is_as_good_as_all() {
    if Command::new("taskset").args(["-c", "0", "true"]).output().is_err() {
        return skip("no taskset");
    }
    let folder = tempfile::tempdir().unwrap();
    let all = demo(folder.path(), Path::new("all"), &[]);
    let mut one_core = Command::new("taskset");
    one_core.args(["-c", "0", env!("CARGO_BIN_EXE_probity"), "demo", "one", "--as-of", AS_OF]);
    run(one_core.current_dir(folder.path())).exits(0);
    assert_eq!(all, digest(&folder.path().join("one")));
}

fn sources() -> Vec<PathBuf> {
    walk(&[checkout("samples/trial/raw/vllm")]).unwrap().into_iter().map(|(path, _)| path).collect()
}

#[test]
fn loading_again_changes_nothing() {
    let trial = Trial::new();
    trial.load(&sources(), &[]).exits(0);
    let before = trial.digest();
    for file in trial.load(&sources(), &[]).exits(0).json().as_array().unwrap() {
        assert_eq!(file["outcome"], "already");
    }
    assert_eq!(trial.digest(), before);
}

#[test]
fn the_order_of_loading_does_not_show() {
    let reports = [false, true].map(|reversed| {
        let trial = Trial::new();
        let mut files = sources();
        if reversed {
            files.reverse();
        }
        for file in files {
            trial.load(&[file], &[]).exits(0);
        }
        trial.run(["report"]).exits(0);
        let diagnosis = trial.run(["diagnose", "--json"]).out;
        assert!(diagnosis.contains("\"supported\""));
        (diagnosis, digest(&trial.path().join("report")), digest(&trial.path().join("tables")))
    });
    assert_eq!(reports[0], reports[1]);
}

#[test]
fn a_derived_ledger_can_go_and_comes_back() {
    let trial = Trial::new();
    trial.load(&sources(), &[]).exits(0);
    let before = trial.run(["diagnose", "--json"]).out;
    std::fs::remove_dir_all(trial.path().join("ledger")).unwrap();
    assert_eq!(trial.run(["diagnose", "--json"]).out, before);
}
