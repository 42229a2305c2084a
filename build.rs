//! Packs the sample trial into the binary, so that `probity demo` needs nothing beside it.

use std::fmt::Write;
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    let root =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("samples/trial");
    println!("cargo::rerun-if-changed=samples/trial");
    let mut files = Vec::new();
    list(&root, &mut files)?;
    files.sort();
    let mut code = String::from("[\n");
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        // The path is found when the crate is compiled: clones that share a target folder share this script's output.
        let within = format!("/samples/trial/{name}");
        let _ = writeln!(
            code,
            "    ({name:?}, include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {within:?}))),"
        );
    }
    code.push(']');
    std::fs::write(PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("demo.rs"), code)
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}
