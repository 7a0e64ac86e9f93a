//! Compiles the C library with `$CC` (gcc or clang), for the machine at hand unless `CFLAGS` says otherwise.
use std::{env, path::Path, process::Command, process::exit};

fn run(program: &str, arguments: &[String]) {
    match Command::new(program).args(arguments).status() {
        Ok(status) if status.success() => {}
        Ok(_) => exit(1),
        Err(error) => {
            eprintln!("{program} can't be run ({error}); install gcc or clang, or name one in CC");
            exit(1);
        }
    }
}

fn main() {
    let out = env::var("OUT_DIR").unwrap();
    let native = env::var("HOST") == env::var("TARGET");
    let optimized = if native { "-O3 -march=native" } else { "-O3" };
    let flags = env::var("CFLAGS").unwrap_or_else(|_| optimized.into());
    let object = Path::new(&out).join("nnue.o").display().to_string();
    let archive = Path::new(&out).join("libnnue_c.a").display().to_string();
    let mut arguments: Vec<String> = flags.split_whitespace().map(String::from).collect();
    arguments.extend(["-std=c11", "-fPIC", "-c", "nnue.c", "-o", &object].map(String::from));
    run(&env::var("CC").unwrap_or_else(|_| "cc".into()), &arguments);
    let _ = std::fs::remove_file(&archive);
    run(&env::var("AR").unwrap_or_else(|_| "ar".into()), &["crs".into(), archive, object]);
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static=nnue_c");
    for file in ["nnue.c", "nnue.h", "nnue_layers.h", "nnue_squares.h", "nnue_tables.h"] {
        if Path::new(file).exists() {
            println!("cargo:rerun-if-changed={file}");
        }
    }
    for name in ["CC", "CFLAGS", "AR"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
}
