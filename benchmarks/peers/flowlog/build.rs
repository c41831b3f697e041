//! Compiles each program twice: with multiplicities, for updates, and without, for a load only.

use std::path::Path;

use flowlog_build::{Builder, ExecutionMode};

fn main() {
    let target = std::env::var("OUT_DIR").expect("cargo sets it");
    let mut programs: Vec<_> = std::fs::read_dir("programs")
        .expect("the programs are beside this script")
        .map(|entry| entry.expect("a folder can be read").path())
        .collect();
    programs.sort();
    for (name, mode) in [
        ("incremental", ExecutionMode::DatalogInc),
        ("batch", ExecutionMode::DatalogBatch),
    ] {
        for program in &programs {
            // FlowLog puts the modules of a program's aggregates beside it, by the same names for all.
            let folder = Path::new(&target)
                .join(name)
                .join(program.file_stem().expect("a file has a name"));
            std::fs::create_dir_all(&folder).expect("cargo made the folder above");
            std::env::set_var("OUT_DIR", &folder);
            if let Err(reason) = Builder::default()
                .mode(mode)
                .compile(&[program], &[] as &[&Path])
            {
                panic!("{}: {reason}", program.display());
            }
        }
    }
}
