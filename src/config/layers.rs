//! Merging layers of TOML, one over the other, with a warning for every key that means nothing.

use super::{Config, DEFAULTS};
use serde::Deserialize;
use toml::{Table, Value};

/// Why the settings cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A layer is not TOML.
    #[error(
        "{place} is not valid TOML: {reason}\nCorrect it there, or move the file away to use the defaults."
    )]
    Syntax {
        /// Where the layer comes from.
        place: String,
        /// What the parser says, with line and column.
        reason: String,
    },
    /// A file cannot be read.
    #[error(
        "cannot read {place}: {reason}\nMake it readable, or move it away to use the defaults."
    )]
    Unreadable {
        /// The file.
        place: String,
        /// What the system says.
        reason: String,
    },
    /// The defaults themselves are broken (a fault of the program).
    #[error("the built-in settings are broken: {0}")]
    Defaults(String),
    /// No such profile.
    #[error("there is no profile \"{name}\". Known profiles: {known}.")]
    UnknownProfile {
        /// The name asked for.
        name: String,
        /// Those there are.
        known: String,
    },
}

/// One source of settings.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Named in warnings: a path, `environment`, `command line`.
    pub place: String,
    /// TOML text.
    pub text: String,
}

/// Merges `layers`, later ones over earlier ones, over the defaults.
pub fn load(layers: &[Layer]) -> Result<(Config, Vec<String>), ConfigError> {
    let mut merged: Table = DEFAULTS
        .parse()
        .map_err(|error: toml::de::Error| ConfigError::Defaults(error.to_string()))?;
    let mut warnings = Vec::new();
    for layer in layers {
        let table: Table = layer.text.parse().map_err(|error: toml::de::Error| {
            ConfigError::Syntax { place: layer.place.clone(), reason: error.to_string() }
        })?;
        for (key, value) in flatten(&table) {
            apply(&mut merged, &key, value, &layer.place, &mut warnings);
        }
    }
    let config = parse(&merged).map_err(ConfigError::Defaults)?;
    Ok((config, warnings))
}

fn parse(table: &Table) -> Result<Config, String> {
    Config::deserialize(Value::Table(table.clone())).map_err(|error| error.message().to_owned())
}

/// Leaves of a table as dotted paths. Arrays are leaves.
fn flatten(table: &Table) -> Vec<(Vec<String>, Value)> {
    let mut leaves = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => {
                leaves.extend(flatten(inner).into_iter().map(|(mut path, leaf)| {
                    path.insert(0, key.clone());
                    (path, leaf)
                }))
            }
            leaf => leaves.push((vec![key.clone()], leaf.clone())),
        }
    }
    leaves
}

/// Sets one key when it is known and its value fits; warns and leaves the old one otherwise.
fn apply(
    merged: &mut Table,
    path: &[String],
    value: Value,
    place: &str,
    warnings: &mut Vec<String>,
) {
    let name = path.join(".");
    if !known(merged, path) {
        warnings.push(format!("{place}: unknown setting `{name}` is ignored"));
        return;
    }
    let before = merged.clone();
    set(merged, path, value);
    if let Err(reason) = parse(merged) {
        *merged = before;
        warnings.push(format!("{place}: `{name}` is ignored: {reason}"));
    }
}

/// `sampling.*` keys have no default to compare with, and profiles are named by the user.
fn known(merged: &Table, path: &[String]) -> bool {
    const SAMPLING: [&str; 7] = [
        "temperature",
        "top_k",
        "top_p",
        "min_p",
        "presence_penalty",
        "repetition_penalty",
        "seed",
    ];
    match path {
        [section, key] if section == "sampling" => SAMPLING.contains(&key.as_str()),
        [section, _, key] if section == "profiles" => key == "prompt" || key == "tools",
        [key] => merged.get(key).is_some_and(|value| !value.is_table()),
        [section, key] => {
            merged.get(section).and_then(Value::as_table).is_some_and(|t| t.contains_key(key))
        }
        _ => false,
    }
}

fn set(table: &mut Table, path: &[String], value: Value) {
    match path {
        [] => {}
        [key] => {
            table.insert(key.clone(), value);
        }
        [key, rest @ ..] => {
            let inner = table.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                set(inner, rest, value);
            }
        }
    }
}
