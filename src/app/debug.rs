//! `tessera debug`: views of the engine and of the pure parsers, JSON in and out (`docs/debug.md`).

use crate::cli::DebugCommand;
use crate::engine::EngineOptions;
use crate::engine::arch::Numerics;
use crate::engine::debug::{self, LogitOptions};
use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Map, Value, json};
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};

pub(super) fn run(command: DebugCommand) -> Result<u8> {
    match command {
        DebugCommand::Tokens { model, decode, special } => tokens(&model, decode, special),
        DebugCommand::Template { model } => template(&model),
        DebugCommand::Logits { model, ids, all, out, chunk, recurrent, fast } => {
            let options = LogitOptions { chunk: chunk.unwrap_or(0), recurrent, all };
            logits(&model, &ids, options, fast, out.as_deref())
        }
        DebugCommand::Greedy { model, ids, n, fast } => {
            let mut model = debug::model(&model, &engine_options(fast))?;
            let options = LogitOptions { chunk: 0, recurrent: false, all: false };
            print(&json!({ "ids": debug::greedy(&mut *model, &ids, n, options)? }))
        }
        DebugCommand::Parse { tools } => parse(tools),
        DebugCommand::Edit => lines(|line| crate::edit::run_case(line).map_err(|e| anyhow!(e))),
    }
}

fn engine_options(fast: bool) -> EngineOptions {
    let numerics = if fast { Numerics::Fast } else { Numerics::Exact };
    EngineOptions { numerics, ..EngineOptions::default() }
}

fn print(value: &Value) -> Result<u8> {
    writeln!(std::io::stdout().lock(), "{value}")?;
    Ok(0)
}

fn input() -> Result<String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).context("standard input is not UTF-8 text")?;
    Ok(text)
}

fn tokens(model: &Path, decode: bool, special: bool) -> Result<u8> {
    let tokenizer = debug::tokenizer(model)?;
    let text = input()?;
    if decode {
        let ids: Vec<u32> =
            serde_json::from_str(&text).context("standard input is not a JSON array of ids")?;
        return print(&json!({ "text": tokenizer.decode(&ids) }));
    }
    print(&json!({ "ids": debug::ids(&tokenizer, &text, !special)? }))
}

fn template(model: &Path) -> Result<u8> {
    let (template, tokenizer) = debug::template(model, None)?;
    let given: Value = serde_json::from_str(&input()?).context("standard input is not JSON")?;
    let Value::Object(mut given) = given else {
        bail!("standard input must be an object with messages, tools and kwargs");
    };
    let mut variables = Map::new();
    if let Some(Value::Object(kwargs)) = given.remove("kwargs") {
        variables = kwargs;
    }
    variables.extend(given);
    variables.entry("add_generation_prompt").or_insert(Value::Bool(true));
    let rendered = debug::render(&template, &tokenizer, variables)?;
    print(&json!({ "text": rendered.text, "ids": rendered.ids }))
}

fn logits(
    path: &Path,
    ids: &[u32],
    options: LogitOptions,
    fast: bool,
    out: Option<&Path>,
) -> Result<u8> {
    let mut model = debug::model(path, &engine_options(fast))?;
    let vocabulary = model.vocab();
    let values = debug::logits(&mut *model, ids, options)?;
    if let Some(out) = out {
        let file = std::fs::File::create(out)
            .with_context(|| format!("cannot write {}", out.display()))?;
        let mut file = std::io::BufWriter::new(file);
        debug::write_npy(&mut file, vocabulary, &values)?;
        file.flush()?;
    }
    let rows: Vec<&[f32]> = values.chunks(vocabulary.max(1)).collect();
    let argmax: Vec<u32> = rows.iter().map(|row| debug::argmax(row)).collect();
    print(&json!({
        "shape": [rows.len(), vocabulary],
        "argmax": argmax,
        "last": rows.last(),
    }))
}

fn parse(tools: Option<PathBuf>) -> Result<u8> {
    let path = tools.unwrap_or_else(|| cases_folder().join("tools.json"));
    let text = std::fs::read_to_string(&path).with_context(|| {
        format!("cannot read tool sets from {}; name them with --tools", path.display())
    })?;
    let tools: Value =
        serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    lines(|line| crate::engine::cases::run_case(line, &tools).map_err(|error| anyhow!(error)))
}

fn cases_folder() -> PathBuf {
    std::env::var_os("TESSERA_CASES").map_or_else(|| "tests/cases".into(), PathBuf::from)
}

/// One answer a line; a line that is no case is answered with an error, and the rest goes on.
fn lines(answer: impl Fn(&str) -> Result<Value>) -> Result<u8> {
    let mut out = std::io::stdout().lock();
    let mut code = 0;
    for line in std::io::stdin().lock().lines() {
        let line = line.context("standard input is not UTF-8 text")?;
        if line.trim().is_empty() {
            continue;
        }
        let value = answer(&line).unwrap_or_else(|error| {
            code = 1;
            let id = serde_json::from_str::<Value>(&line).ok().and_then(|v| v.get("id").cloned());
            json!({ "id": id, "error": format!("{error:#}") })
        });
        writeln!(out, "{value}")?;
    }
    Ok(code)
}
