//! From files, environment and flags to settings.

use crate::cli::{Common, EffortArg, PolicyArg};
use crate::config::{self, Config, ConfigError, Layer};
use crate::paths::Paths;
use anyhow::{Context, Result, bail};
use std::path::Path;

const COMMAND_LINE: &str = "command line";

/// Settings and what was wrong with some of them.
pub(super) fn load(common: &Common, paths: &Paths) -> Result<(Config, Vec<String>)> {
    let mut layers = Vec::new();
    layers.extend(user_file(&paths.config.join("config.toml"))?);
    layers.push(Layer { place: COMMAND_LINE.into(), text: flags(common)? });
    let (config, warnings) = config::load(&layers)?;
    // A file may be of another version; what was typed just now is simply wrong.
    if let Some(wrong) = warnings.iter().find(|text| text.starts_with(COMMAND_LINE)) {
        bail!("{wrong}");
    }
    Ok((config, warnings))
}

fn user_file(path: &Path) -> Result<Option<Layer>> {
    let place = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(Layer { place, text })),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ConfigError::Unreadable { place, reason: error.to_string() }.into()),
    }
}

/// The flags as a layer of TOML, so that they are checked and merged like everything else.
fn flags(common: &Common) -> Result<String> {
    let mut table = toml::Table::new();
    for pair in &common.set {
        let Some((key, value)) = pair.split_once('=') else {
            bail!("-c {pair}: write KEY=VALUE, such as -c limits.steps=20");
        };
        merge(&mut table, dotted(key.trim(), value.trim())?);
    }
    if let Some(model) = &common.model {
        let model = model.to_str().context("the model's path is not valid UTF-8; rename it")?;
        table.insert("model".into(), model.into());
    }
    if let Some(policy) = common.policy {
        table.insert("policy".into(), policy_name(policy).into());
    }
    if let Some(effort) = common.effort {
        table.insert("effort".into(), effort_name(effort).into());
    }
    for (key, value) in [("theme", &common.theme), ("profile", &common.profile)] {
        if let Some(value) = value {
            table.insert(key.into(), value.as_str().into());
        }
    }
    Ok(table.to_string())
}

/// `a.b=1` as a table. A value that is not TOML is taken as a string, so that quotes can be left out.
fn dotted(key: &str, value: &str) -> Result<toml::Table> {
    if let Ok(table) = format!("{key} = {value}").parse() {
        return Ok(table);
    }
    let quoted = toml::Value::from(value).to_string();
    format!("{key} = {quoted}").parse().with_context(|| format!("-c {key}: not a setting's name"))
}

fn merge(into: &mut toml::Table, from: toml::Table) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

fn policy_name(policy: PolicyArg) -> &'static str {
    match policy {
        PolicyArg::Plan => "plan",
        PolicyArg::Review => "review",
        PolicyArg::AutoEdit => "auto-edit",
        PolicyArg::Auto => "auto",
    }
}

fn effort_name(effort: EffortArg) -> &'static str {
    match effort {
        EffortArg::Off => "off",
        EffortArg::Low => "low",
        EffortArg::Medium => "medium",
        EffortArg::Xhigh => "xhigh",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_win_over_the_users_file_and_values_need_no_quotes() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::under(home.path());
        std::fs::create_dir_all(&paths.config).unwrap();
        std::fs::write(paths.config.join("config.toml"), "theme = \"light\"\npolicy = \"plan\"\n")
            .unwrap();
        let common = Common {
            policy: Some(PolicyArg::Auto),
            set: vec!["limits.steps=7".into(), "limits.max_tokens=9".into(), "theme=ansi".into()],
            ..Common::default()
        };
        let (config, warnings) = load(&common, &paths).unwrap();
        assert_eq!(config.policy, crate::protocol::Policy::Auto);
        assert_eq!((config.limits.steps, config.limits.max_tokens), (7, 9));
        assert_eq!(config.theme, "ansi");
        assert!(warnings.is_empty(), "{warnings:?}");
    }

    #[test]
    fn a_file_that_is_not_toml_is_named() {
        let home = tempfile::tempdir().unwrap();
        let paths = Paths::under(home.path());
        std::fs::create_dir_all(&paths.config).unwrap();
        std::fs::write(paths.config.join("config.toml"), "theme = = 3").unwrap();
        let error = load(&Common::default(), &paths).unwrap_err().to_string();
        assert!(error.contains("config.toml"), "{error}");
    }
}
