//! From settings to a house: workspace, tools, engine, session, agent.

use super::settings;
use crate::agent::{Limits, Setup, Texts};
use crate::assets::Assets;
use crate::cli::Common;
use crate::config::{Ask, Config, Numerics, Thinking};
use crate::engine::scripted::{Script, ScriptedEngine};
use crate::engine::{self, Engine, EngineOptions, EventStream, arch};
use crate::paths::Paths;
use crate::protocol::{Event, Level, Message, ToolSpec};
use crate::runtime::{Parts, Recorder, Runtime};
use crate::session;
use crate::tools::{self, Registry};
use crate::tui::{Depth, Theme, ThinkingView, TuiOptions};
use crate::workspace::Workspace;
use anyhow::{Context, Result, anyhow, bail};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedSender;

/// What to start, as asked for.
pub(super) struct Start<'a> {
    common: Common,
    paths: &'a Paths,
    /// `Some(None)` resumes the latest session.
    resume: Option<Option<String>>,
}

/// Everything of a session, ready to run.
pub(super) struct House {
    parts: Parts,
    config: Config,
    assets: Assets,
    warnings: Vec<String>,
    replay: Vec<Event>,
}

impl<'a> Start<'a> {
    pub fn new(common: Common, paths: &'a Paths) -> Self {
        Self { common, paths, resume: None }
    }

    pub fn resuming(self, session: Option<String>) -> Self {
        Self { resume: Some(session), ..self }
    }

    /// Checks everything that can be checked before the first frame, cheap and often wrong first.
    pub fn build(self) -> Result<House> {
        let (config, mut warnings) = settings::load(&self.common, self.paths)?;
        let (assets, found) = Assets::load(Some(&self.paths.config));
        warnings.extend(found);
        let workspace = Arc::new(open_workspace(self.common.cd.as_deref())?);
        let (registry, found) = Registry::load(&assets);
        warnings.extend(found);
        let tools = offered(&registry, &config)?;
        let (recorder, history, found) = self.session(&workspace)?;
        warnings.extend(found);
        let limits = tools::Settings {
            timeout: std::time::Duration::from_secs(config.tools.timeout),
            output: config.tools.output,
            logs: self.paths.command_logs(),
            ..tools::Settings::default()
        };
        let context = tools::Context::new(workspace.clone(), limits);
        let context = Arc::new(context.with_registry(Arc::new(registry)));
        let replay = super::replay::events(&history);
        let setup = setup(&config, &assets, &workspace, tools, history)?;
        let (engine, loading) = self.engine(&config)?;
        let parts = Parts { engine, loading, setup, workspace, context, recorder };
        Ok(House { parts, config, assets, warnings, replay })
    }

    fn session(&self, workspace: &Workspace) -> Result<(Recorder, Vec<Message>, Vec<String>)> {
        match &self.resume {
            None => {
                let recorder = Recorder::create(self.paths, workspace.root());
                Ok((recorder, Vec::new(), Vec::new()))
            }
            Some(wanted) => Ok(Recorder::resume(self.paths, workspace.root(), wanted.as_deref())?),
        }
    }

    fn engine(&self, config: &Config) -> Result<(Box<dyn Engine>, EventStream)> {
        if let Some(script) = &self.common.script {
            let engine = ScriptedEngine::new(Script::read(script)?);
            let loading = engine.loading();
            return Ok((Box::new(engine), loading));
        }
        let path = model_file(config)?;
        let options = EngineOptions {
            context: Some(match config.engine.context {
                0 => DEFAULT_CONTEXT,
                tokens => tokens,
            }),
            numerics: match config.engine.numerics {
                Numerics::Exact => arch::Numerics::Exact,
                Numerics::Fast => arch::Numerics::Fast,
            },
            prefill_chunk: Some(config.engine.prefill_chunk).filter(|tokens| *tokens > 0),
            ..EngineOptions::default()
        };
        let (engine, loading) = engine::spawn(path, options);
        Ok((Box::new(engine), loading))
    }
}

/// A KV cache of the target model costs 64 KiB a token; this many fit beside it on every machine.
const DEFAULT_CONTEXT: usize = 32_768;

fn model_file(config: &Config) -> Result<PathBuf> {
    if config.model.is_empty() {
        bail!(
            "no model: name a GGUF file with --model FILE, in TESSERA_MODEL, or as `model` in \
             config.toml; `tessera demo` plays with the bundled one"
        );
    }
    let path = PathBuf::from(&config.model);
    if !path.is_file() {
        bail!("there is no model file {}; check the path", path.display());
    }
    Ok(path)
}

fn open_workspace(folder: Option<&Path>) -> Result<Workspace> {
    let folder = match folder {
        Some(folder) => folder.to_owned(),
        None => std::env::current_dir().context("the current folder is gone; go to another one")?,
    };
    Ok(Workspace::open(&folder)?)
}

/// The tools of the profile, in its order.
fn offered(registry: &Registry, config: &Config) -> Result<Vec<ToolSpec>> {
    let profile = config.profile()?;
    if profile.tools.is_empty() {
        return Ok(registry.specs().to_vec());
    }
    profile
        .tools
        .iter()
        .map(|name| {
            registry.specs().iter().find(|spec| spec.name == *name).cloned().ok_or_else(|| {
                anyhow!("profile \"{}\" names a tool that does not exist: {name}", config.profile)
            })
        })
        .collect()
}

fn setup(
    config: &Config,
    assets: &Assets,
    workspace: &Workspace,
    tools: Vec<ToolSpec>,
    history: Vec<Message>,
) -> Result<Setup> {
    Ok(Setup {
        system: system_prompt(config, assets, workspace)?,
        tools,
        policy: config.policy,
        effort: config.effort,
        sampling: config.sampling,
        limits: Limits {
            steps: config.limits.steps,
            max_tokens: config.limits.max_tokens,
            max_thinking: config.limits.max_thinking,
            ..Limits::default()
        },
        verify_allowed: config.approval.verify == Ask::Allow,
        texts: texts(assets)?,
        history,
    })
}

fn system_prompt(config: &Config, assets: &Assets, workspace: &Workspace) -> Result<String> {
    let name = &config.profile()?.prompt;
    let text = prompt(assets, name)?;
    let branch = workspace.head().map(|head| head.label().to_owned());
    minijinja::Environment::new()
        .render_str(
            &text,
            minijinja::context! { root => workspace.root().display().to_string(), branch },
        )
        .map_err(|error| anyhow!("prompts/{name}.md cannot be rendered: {error}"))
}

fn prompt(assets: &Assets, name: &str) -> Result<String> {
    assets
        .prompt(name)
        .map(|text| text.trim().to_owned())
        .ok_or_else(|| anyhow!("there is no prompts/{name}.md"))
}

fn texts(assets: &Assets) -> Result<Texts> {
    let text = |name: &str| prompt(assets, &format!("agent-{name}"));
    Ok(Texts {
        empty_answer: text("empty_answer")?,
        looped: text("looped")?,
        repeated_call: text("repeated_call")?,
        plan_only: text("plan_only")?,
        denied: text("denied")?,
        interrupted: text("interrupted")?,
    })
}

impl House {
    pub fn runtime(self, events: UnboundedSender<Event>) -> Runtime {
        for text in self.warnings {
            let _ = events.send(Event::Notice { level: Level::Warning, text });
        }
        Runtime::new(self.parts, events)
    }

    pub fn nobody(&self) -> Result<String> {
        prompt(&self.assets, "agent-nobody")
    }

    /// Options of the interface: the theme asked for first, then all others.
    pub fn tui_options(&mut self) -> TuiOptions {
        let mut themes = Vec::new();
        let mut found = false;
        let depth = Depth::detect(|name| std::env::var(name).ok());
        for (name, text) in self.assets.themes() {
            let (theme, warnings) = Theme::parse(&name, &text);
            self.warnings.extend(warnings);
            let at = if name == self.config.theme { 0 } else { themes.len() };
            found |= at == 0 && name == self.config.theme;
            themes.insert(at, theme.limited(depth));
        }
        if !found {
            self.warnings.push(format!("there is no theme \"{}\"", self.config.theme));
        }
        TuiOptions {
            themes,
            thinking: match self.config.thinking {
                Thinking::Tail => ThinkingView::Tail,
                Thinking::Folded => ThinkingView::Folded,
                Thinking::Full => ThinkingView::Full,
                Thinking::Off => ThinkingView::Off,
            },
            resumed: std::mem::take(&mut self.replay),
            ..TuiOptions::default()
        }
    }
}

/// `tessera sessions`
pub(super) fn list_sessions(common: &Common, paths: &Paths) -> Result<u8> {
    let workspace = open_workspace(common.cd.as_deref())?;
    let found = session::list(&paths.sessions(), workspace.root());
    let mut text = String::new();
    for summary in &found {
        let title = crate::protocol::visible(&summary.title);
        text.push_str(&format!("{}  {title}\n", summary.id));
    }
    if found.is_empty() {
        text = format!("no conversations in {} yet\n", workspace.root().display());
    }
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => return Err(error.into()),
        // A reader that has seen enough is no fault.
        Ok(()) | Err(_) => {}
    }
    Ok(0)
}
