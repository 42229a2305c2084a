//! A file that may be an archive, compressed, or in another encoding: opened to its end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use readers::input::{Limits, is_archive, open, unpack};
use std::io::Read;

fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a");
    std::fs::write(&path, bytes).expect("a file");
    let drain = |path: &std::path::Path| {
        let mut left = open(path, Limits::default()).expect("it is there").take(1 << 24);
        let _ = std::io::copy(&mut left, &mut std::io::sink());
    };
    if is_archive(&path).expect("it is there") {
        unpack(&path, folder.path(), Limits::default(), &mut |_, member| {
            if let Ok(member) = member {
                drain(member);
            }
            Ok(())
        })
        .expect("what is wrong with it is told, not raised");
    } else {
        drain(&path);
    }
});
