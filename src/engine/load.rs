//! From a path to everything a request needs: tokenizer, template, dialect, weights.
//!
//! Here: the options, the order of loading and its progress, and what is told about the model. Not
//! here: the thread (`worker.rs`). Invariant: every stage is reported before it begins, and what is
//! cheap and often wrong (tokenizer, template) is checked before the weights are read.

use super::arch::{self, Numerics};
use super::dialect::Dialect;
use super::error::EngineError;
use super::gguf::GgufFile;
use super::prefix::State;
use super::template::Template;
use super::tokenizer::Tokenizer;
use super::vocabulary::Vocabulary;
use crate::protocol::{LoadStage, ModelInfo, Sampling};
use candle_core::Device;
use std::collections::HashMap;
use std::path::Path;

/// How to load and run a model.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// `auto`, `cpu` or `cuda:N`. `auto` takes the first GPU if this build can use one.
    pub device: String,
    /// Context in tokens, at most what the file allows; `None` takes that.
    pub context: Option<usize>,
    /// Precision against speed.
    pub numerics: Numerics,
    /// Replaces the chat template of the file.
    pub template: Option<String>,
    /// Prompt tokens computed at a time; `None` adapts it so that cancelling is quick.
    pub prefill_chunk: Option<usize>,
    /// Memory that snapshots for going back may take, in bytes.
    pub snapshot_bytes: usize,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            device: "auto".to_string(),
            context: None,
            numerics: Numerics::Fast,
            template: None,
            prefill_chunk: None,
            snapshot_bytes: 1 << 30,
        }
    }
}

/// A model ready for requests.
pub struct Loaded {
    /// The model and what it has processed.
    pub state: State,
    /// Text to tokens and back.
    pub tokenizer: Tokenizer,
    /// Messages to text.
    pub template: Template,
    /// How the model writes calls.
    pub dialect: Dialect,
    /// What is told about the model.
    pub info: ModelInfo,
}

/// Loads `path`.
///
/// `progress` is told stage, part done and whole (bytes for the weights, else 0 of 0); `cancelled` is
/// asked between tensors. Errors: everything [`EngineError`] says about files.
pub fn load(
    path: &Path,
    options: &EngineOptions,
    progress: &mut dyn FnMut(LoadStage, u64, u64),
    cancelled: &dyn Fn() -> bool,
) -> Result<Loaded, EngineError> {
    progress(LoadStage::Reading, 0, 0);
    let file = GgufFile::open(path)?;
    let device = device(&options.device)?;
    progress(LoadStage::Tokenizer, 0, 0);
    let tokenizer = tokenizer(&file)?;
    let template = template(&file, &tokenizer, options.template.as_deref())?;
    if cancelled() {
        return Err(EngineError::Cancelled);
    }
    progress(LoadStage::Weights, 0, 0);
    let mut weights = |done, total| progress(LoadStage::Weights, done, total);
    let mut model = arch::load(&file, &device, options.numerics, &mut weights, cancelled)?;
    if let Some(context) = options.context {
        model.set_context(context);
    }
    let info = info(&file, &device, model.context())?;
    for warning in tokenizer.warnings() {
        tracing::warn!("{warning}");
    }
    Ok(Loaded {
        dialect: Dialect::detect(template.source()),
        state: State::new(model, options.snapshot_bytes),
        tokenizer,
        template,
        info,
    })
}

/// The tokenizer of a file. Errors: missing or wrong keys, merges that do not fit.
pub fn tokenizer(file: &GgufFile) -> Result<Tokenizer, EngineError> {
    Tokenizer::new(Vocabulary::from_gguf(file.metadata())?)
}

/// The chat template of a file, or `replacement`. Errors: none at all, syntax.
pub fn template(
    file: &GgufFile,
    tokenizer: &Tokenizer,
    replacement: Option<&str>,
) -> Result<Template, EngineError> {
    let own = file.metadata().opt_str("tokenizer.chat_template")?;
    let source = replacement.or(own).ok_or(EngineError::MissingTemplate)?;
    Template::new(source, tokenizer.bos())
}

/// The device `name` stands for. Errors: a name of another form, a GPU that cannot be used.
pub fn device(name: &str) -> Result<Device, EngineError> {
    let wrong = || {
        EngineError::Compute(candle_core::Error::Msg(format!(
            "unknown device '{name}': write auto, cpu or cuda:N"
        )))
    };
    match name {
        "cpu" => Ok(Device::Cpu),
        // A GPU that is there but fails to start must not stop the program: `auto` falls back.
        "auto" => Ok(Device::new_cuda(0).unwrap_or(Device::Cpu)),
        _ => {
            let ordinal = name.strip_prefix("cuda:").and_then(|n| n.parse().ok());
            Ok(Device::new_cuda(ordinal.ok_or_else(wrong)?)?)
        }
    }
}

fn info(file: &GgufFile, device: &Device, context: usize) -> Result<ModelInfo, EngineError> {
    let stem = file.path().file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = file.metadata().opt_str("general.name")?.filter(|name| !name.trim().is_empty());
    let device = match device.location() {
        candle_core::DeviceLocation::Cpu => "cpu".to_string(),
        candle_core::DeviceLocation::Cuda { gpu_id } => format!("cuda:{gpu_id}"),
        candle_core::DeviceLocation::Metal { gpu_id } => format!("metal:{gpu_id}"),
    };
    Ok(ModelInfo {
        name: name.map(str::to_string).or(stem).unwrap_or_default(),
        architecture: file.architecture()?.to_string(),
        quantization: commonest_type(file),
        context,
        parameters: file.tensors().iter().map(|tensor| tensor.elements() as u64).sum(),
        device,
        sampling: sampling(file)?,
    })
}

/// What the file recommends, as far as its values make sense.
fn sampling(file: &GgufFile) -> Result<Sampling, EngineError> {
    let usual = Sampling::default();
    let number = |key: &str, usual: f32, allowed: std::ops::RangeInclusive<f32>| {
        let value = file.metadata().opt_f32(&format!("general.sampling.{key}"))?;
        Ok::<f32, EngineError>(value.filter(|value| allowed.contains(value)).unwrap_or(usual))
    };
    Ok(Sampling {
        temperature: number("temp", usual.temperature, 0.0..=2.0)?,
        top_k: number("top_k", usual.top_k as f32, 0.0..=1e6)? as usize,
        top_p: number("top_p", usual.top_p, 0.01..=1.0)?,
        min_p: number("min_p", usual.min_p, 0.0..=0.99)?,
        ..usual
    })
}

/// The type that most elements of matrices have.
fn commonest_type(file: &GgufFile) -> String {
    let mut elements: HashMap<String, usize> = HashMap::new();
    for tensor in file.tensors().iter().filter(|tensor| tensor.shape.len() > 1) {
        *elements.entry(tensor.dtype.to_string()).or_default() += tensor.elements();
    }
    let most = elements.into_iter().max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
    most.map(|(name, _)| name).unwrap_or_default()
}
