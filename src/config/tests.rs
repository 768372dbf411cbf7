//! Layers in, settings and warnings out.

use super::{Ask, ConfigError, Layer, load};
use crate::protocol::{Policy, Sampling};

fn layer(text: &str) -> Layer {
    Layer { place: "user.toml".into(), text: text.into() }
}

#[test]
fn the_defaults_stand_alone() {
    let (config, warnings) = load(&[]).expect("defaults");
    assert_eq!(config.policy, Policy::Review);
    assert_eq!(config.approval.verify, Ask::Ask);
    assert_eq!(config.profile().expect("profile").prompt, "system");
    assert!(warnings.is_empty());
}

#[test]
fn a_later_layer_wins_key_by_key() {
    let (config, warnings) = load(&[
        layer("theme = \"light\"\n[limits]\nsteps = 7\n"),
        layer("[limits]\nmax_tokens = 9\n[sampling]\nseed = 4\n"),
    ])
    .expect("config");
    assert_eq!(
        (config.theme.as_str(), config.limits.steps, config.limits.max_tokens),
        ("light", 7, 9)
    );
    assert_eq!(config.sampling.over(&Sampling::default()).seed, 4);
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn unknown_keys_and_bad_values_are_reported_and_leave_the_rest() {
    // (layer, part of the warning)
    for (text, warning) in [
        ("colour = 3", "unknown setting `colour`"),
        ("[limits]\nstep = 3", "unknown setting `limits.step`"),
        ("[sampling]\ntemp = 1.0", "unknown setting `sampling.temp`"),
        ("policy = \"yolo\"", "`policy` is ignored"),
        ("[limits]\nsteps = -1", "`limits.steps` is ignored"),
        ("limits = 3", "`limits`"),
    ] {
        let text = format!("{text}\n");
        let (config, warnings) = load(&[layer(&text), layer("theme = \"light\"")]).expect("config");
        assert_eq!(warnings.len(), 1, "{text}: {warnings:?}");
        assert!(warnings[0].contains(warning), "{text}: {warnings:?}");
        assert_eq!((config.theme.as_str(), config.policy), ("light", Policy::Review));
    }
}

#[test]
fn own_profiles_can_be_added_and_unknown_ones_are_named() {
    let (config, _) =
        load(&[layer("profile = \"mine\"\n[profiles.mine]\nprompt = \"p\"\n")]).expect("config");
    assert_eq!(config.profile().expect("profile").prompt, "p");
    let (config, _) = load(&[layer("profile = \"none\"")]).expect("config");
    assert!(matches!(config.profile(), Err(ConfigError::UnknownProfile { .. })));
}

#[test]
fn text_that_is_not_toml_stops_with_place_and_line() {
    let error = load(&[layer("a = = 3")]).expect_err("syntax").to_string();
    assert!(error.contains("user.toml") && error.contains("line 1"), "{error}");
}
