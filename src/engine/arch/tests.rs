//! The mini model against exact reference values, and the state against itself.
//!
//! `expected-*.json` were computed in f64 on the decoded weights of each file; see the fixture's
//! own description. Tolerances: 1e-3 on logits of standard deviation 4 for `Numerics::Exact`.

use super::qwen35::Qwen35;
use super::*;
use crate::engine::gguf::testing::{Numbers, Writer, fixture, shared_fixture};
use serde_json::Value;
use std::path::{Path, PathBuf};

const TOLERANCE: f32 = 1e-3;

fn open(path: &Path, backend: Backend, numerics: Numerics) -> Qwen35 {
    let file = GgufFile::open(path).unwrap();
    let mut progress = |_, _| {};
    let mut loader = Loader::new(&file, &Device::Cpu, numerics, &mut progress, &|| false);
    Qwen35::load(&mut loader, backend).unwrap()
}

fn q4k() -> Qwen35 {
    open(&fixture("mini-q4k.gguf"), Backend::Host, Numerics::Exact)
}

fn expected(kind: &str) -> Value {
    let text = std::fs::read_to_string(fixture(&format!("expected-{kind}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The four files, those too large for the repository only where they lie beside it.
fn files() -> Vec<(&'static str, PathBuf)> {
    let mut files = vec![("q8", fixture("mini-q8.gguf")), ("q4k", fixture("mini-q4k.gguf"))];
    for kind in ["f32", "bf16"] {
        let name = format!("fixture-mini-qwen35/mini-{kind}.gguf");
        files.extend(shared_fixture(&name).map(|path| (kind, path)));
    }
    files
}

fn ids(expected: &Value) -> Vec<u32> {
    expected["ids"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as u32).collect()
}

fn floats(value: &Value) -> Vec<f32> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap() as f32).collect()
}

fn argmax(row: &[f32]) -> usize {
    (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap()
}

fn gap(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn norm(x: &[f32]) -> f32 {
    x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt() as f32
}

fn close(what: &str, got: &[f32], want: &[f32], tolerance: f32) {
    let gap = gap(got, want);
    assert!(gap <= tolerance, "{what}: off by {gap}, {got:?} for {want:?}");
}

fn greedy(model: &mut dyn Model, mut row: Vec<f32>, n: usize) -> Vec<usize> {
    let mut out = Vec::new();
    for _ in 0..n {
        // The fixture's last ids are padding, which the reference never takes.
        let token = argmax(&row[..1024]);
        out.push(token);
        row = model.forward(&[token as u32], Rows::Last).unwrap();
    }
    out
}

#[test]
fn every_file_matches_its_reference() {
    for (kind, path) in files() {
        // Both paths of the recurrence on every file; the slow one on the smallest file only.
        let backends: &[Backend] =
            if kind == "q4k" { &[Backend::Host, Backend::Tensors] } else { &[Backend::Host] };
        for &backend in backends {
            for scan in [Scan::Recurrent, Scan::Chunked] {
                let mut model = open(&path, backend, Numerics::Exact);
                model.set_scan(scan);
                check_reference(&format!("{kind} {backend:?} {scan:?}"), kind, &mut model);
            }
        }
    }
}

fn check_reference(what: &str, kind: &str, model: &mut Qwen35) {
    let want = expected(kind);
    let ids = ids(&want);
    let mut layers: Vec<Vec<f32>> = Vec::new();
    let mut trace = |_: usize, x: &Tensor| {
        let last = x.narrow(0, x.dim(0).unwrap() - 1, 1).unwrap();
        layers.push(last.flatten_all().unwrap().to_vec1().unwrap());
    };
    let logits = model.forward_traced(&ids, Rows::All, &mut trace).unwrap();
    let rows: Vec<&[f32]> = logits.chunks(model.vocab()).collect();
    assert_eq!(rows.len(), ids.len());
    for (i, layer) in layers.iter().enumerate() {
        let head = floats(&want["layer_out_last_head8"][i]);
        close(&format!("{what} layer {i}"), &layer[..8], &head, TOLERANCE);
        let l2 = want["layer_out_last_l2"][i].as_f64().unwrap() as f32;
        close(&format!("{what} layer {i} norm"), &[norm(layer)], &[l2], TOLERANCE);
    }
    check_delta_states(what, &want, model);
    for (i, head) in want["logits_first3_head8"].as_array().unwrap().iter().enumerate() {
        close(&format!("{what} logits of token {i}"), &rows[i][..8], &floats(head), TOLERANCE);
    }
    let last = rows.last().unwrap().to_vec();
    let off = gap(&last, &floats(&want["logits_last"]));
    assert!(off <= TOLERANCE, "{what}: last logits off by {off}");
    let best: Vec<u64> = rows.iter().map(|row| argmax(row) as u64).collect();
    let best_want: Vec<u64> =
        want["argmax"].as_array().unwrap().iter().map(|v| v.as_u64().unwrap()).collect();
    assert_eq!(best.len(), 105);
    assert_eq!(best, best_want, "{what}: argmax of all positions");
    let text = greedy(model, last, 24);
    let text_want: Vec<usize> = want["greedy24_after_prompt"]
        .as_array()
        .unwrap()
        .iter()
        .map(|v| v.as_u64().unwrap() as usize)
        .collect();
    assert_eq!(text, text_want, "{what}: greedy text");
    println!("{what}: last logits within {off:.1e}");
}

fn check_delta_states(what: &str, want: &Value, model: &Qwen35) {
    let states = want["gdn_state_l2"].as_object().unwrap();
    assert_eq!(states.len(), 3);
    let dims = (64, 64);
    for (layer, l2) in states {
        let (context, memory) = model.delta_values(layer.parse().unwrap()).unwrap();
        let l2 = l2.as_f64().unwrap() as f32;
        close(&format!("{what} state norm {layer}"), &[norm(&memory)], &[l2], TOLERANCE);
        let head1 = &memory[memory.len() / heads(&memory, dims)..][..8];
        let head1_want = floats(&want["gdn_state_head1_k0_v0_7"][layer]);
        close(&format!("{what} state {layer}"), head1, &head1_want, TOLERANCE);
        let newest = &context[context.len() / 3 * 2..][..8];
        let newest_want = floats(&want["conv_state_newest_head8"][layer]);
        close(&format!("{what} convolution {layer}"), newest, &newest_want, TOLERANCE);
    }
}

fn heads(memory: &[f32], (key_dim, value_dim): (usize, usize)) -> usize {
    memory.len() / (key_dim * value_dim)
}

#[test]
fn fast_numerics_stay_near_the_exact_ones() {
    // Known size of the effect of rounding activations to 8 bits on this random model: 3.5e-3
    // nats a token for Q8_0 and 1e-2 for Q4_K, 84 to 90 % of positions with the same best token.
    for (kind, name) in [("q8", "mini-q8.gguf"), ("q4k", "mini-q4k.gguf")] {
        let ids = ids(&expected(kind));
        let mut rows = [Numerics::Exact, Numerics::Fast].map(|numerics| {
            open(&fixture(name), Backend::Host, numerics).forward(&ids, Rows::All).unwrap()
        });
        let vocab = rows[0].len() / ids.len();
        let (mut divergence, mut same) = (0.0, 0);
        let [exact, fast] = &mut rows;
        for (exact, fast) in exact.chunks_mut(vocab).zip(fast.chunks_mut(vocab)) {
            same += usize::from(argmax(exact) == argmax(fast));
            divergence += kl(exact, fast);
        }
        divergence /= ids.len() as f64;
        println!("{kind}: {divergence:.1e} nats a token, {same} of {} best tokens", ids.len());
        assert!(divergence < 2e-2, "{kind}: {divergence}");
        assert!(same * 100 >= ids.len() * 80, "{kind}: {same}");
    }
}

fn kl(p: &[f32], q: &[f32]) -> f64 {
    let log_softmax = |x: &[f32]| {
        let max = x.iter().copied().fold(f32::MIN, f32::max);
        let sum: f64 = x.iter().map(|x| f64::from(x - max).exp()).sum();
        x.iter().map(|x| f64::from(x - max) - sum.ln()).collect::<Vec<f64>>()
    };
    let (p, q) = (log_softmax(p), log_softmax(q));
    p.iter().zip(&q).map(|(p, q)| p.exp() * (p - q)).sum()
}

#[test]
fn any_split_of_the_prompt_gives_the_same_logits() {
    let ids = ids(&expected("q4k"));
    for backend in [Backend::Host, Backend::Tensors] {
        let mut model = open(&fixture("mini-q4k.gguf"), backend, Numerics::Exact);
        let whole = model.forward(&ids, Rows::All).unwrap();
        let mut numbers = Numbers(11);
        for _ in 0..6 {
            model.reset();
            let mut rows = Vec::new();
            let mut cuts = Vec::new();
            let mut rest = ids.as_slice();
            while !rest.is_empty() {
                let n = (1 + numbers.below(40)).min(rest.len());
                cuts.push(n);
                rows.extend(model.forward(&rest[..n], Rows::All).unwrap());
                rest = &rest[n..];
            }
            let off = gap(&rows, &whole);
            assert!(off < TOLERANCE, "{backend:?} split {cuts:?}: off by {off}");
        }
    }
}

#[test]
fn token_by_token_equals_the_whole_prompt() {
    let ids = &ids(&expected("q4k"))[..40];
    let mut model = q4k();
    let whole = model.forward(ids, Rows::All).unwrap();
    model.reset();
    let rows: Vec<f32> =
        ids.iter().flat_map(|id| model.forward(&[*id], Rows::Last).unwrap()).collect();
    assert!(gap(&rows, &whole) < TOLERANCE, "off by {}", gap(&rows, &whole));
    assert_eq!(model.len(), ids.len());
}

#[test]
fn the_last_row_is_the_same_alone() {
    let ids = ids(&expected("q4k"));
    let mut model = q4k();
    let all = model.forward(&ids, Rows::All).unwrap();
    model.reset();
    let last = model.forward(&ids, Rows::Last).unwrap();
    assert!(gap(&last, &all[all.len() - model.vocab()..]) < 1e-4);
}

#[test]
fn a_restored_snapshot_is_bit_equal() {
    let ids = ids(&expected("q4k"));
    for backend in [Backend::Host, Backend::Tensors] {
        let mut model = open(&fixture("mini-q4k.gguf"), backend, Numerics::Exact);
        model.forward(&ids[..50], Rows::Last).unwrap();
        let snapshot = model.snapshot().unwrap();
        assert_eq!(snapshot.len(), 50);
        assert!(snapshot.bytes() > 3 * 12 * 64 * 64 * 4);
        let first = model.forward(&ids[50..], Rows::All).unwrap();
        model.restore(&snapshot).unwrap();
        assert_eq!(model.len(), 50);
        // Something else in between, then back again.
        model.forward(&ids[..30], Rows::Last).unwrap();
        model.restore(&snapshot).unwrap();
        let second = model.forward(&ids[50..], Rows::All).unwrap();
        assert_eq!(first, second, "{backend:?}");
    }
}

#[test]
fn a_snapshot_off_the_present_history_is_refused() {
    let ids = ids(&expected("q4k"));
    let mut model = q4k();
    model.forward(&ids[..10], Rows::Last).unwrap();
    let early = model.snapshot().unwrap();
    model.forward(&ids[10..20], Rows::Last).unwrap();
    let late = model.snapshot().unwrap();
    model.restore(&early).unwrap();
    model.forward(&ids[40..60], Rows::Last).unwrap();
    let error = model.restore(&late).unwrap_err().to_string();
    assert!(error.contains("rewound"), "{error}");
    assert_eq!(model.len(), 30, "a refused restore changes nothing");
    model.restore(&early).unwrap();
    let mut other = q4k();
    assert!(other.restore(&early).is_err(), "a snapshot of another model was accepted");
    model.reset();
    assert!(model.restore(&early).is_err(), "its keys and values are gone");
}

#[test]
fn the_context_is_a_limit_and_bounds_the_cache() {
    let ids = ids(&expected("q4k"));
    let mut model = q4k();
    let whole = model.context();
    model.set_context(60);
    model.forward(&ids[..50], Rows::Last).unwrap();
    let error = model.forward(&ids[50..], Rows::Last).unwrap_err();
    assert!(matches!(error, EngineError::ContextOverflow { needed: 105, context: 60 }), "{error}");
    assert_eq!(model.len(), 50);
    model.forward(&ids[50..60], Rows::Last).unwrap();
    let delta = model.snapshot().unwrap().bytes();
    let row = 2 * 4 * kv_width();
    assert_eq!(model.state_bytes() - delta, 60 * row, "the cache holds the context, no more");
    model.set_context(usize::MAX);
    assert_eq!(model.context(), whole);
    model.forward(&ids[60..], Rows::Last).unwrap();
}

/// Values of a key (or value) of all heads.
fn kv_width() -> usize {
    let file = GgufFile::open(&fixture("mini-q4k.gguf")).unwrap();
    let metadata = file.metadata();
    metadata.usize("qwen35.attention.head_count_kv").unwrap()
        * metadata.usize("qwen35.attention.key_length").unwrap()
}

#[test]
fn the_cache_grows_and_keeps_its_rows() {
    let mut model = q4k();
    let mut numbers = Numbers(5);
    let ids: Vec<u32> = (0..300).map(|_| numbers.below(1000) as u32).collect();
    let whole = model.forward(&ids, Rows::Last).unwrap();
    model.reset();
    let mut last = Vec::new();
    for part in ids.chunks(99) {
        last = model.forward(part, Rows::Last).unwrap();
    }
    assert!(gap(&whole, &last) < TOLERANCE, "off by {}", gap(&whole, &last));
}

#[test]
fn tokens_outside_the_vocabulary_are_refused() {
    let mut model = q4k();
    let error = model.forward(&[1, 5000], Rows::Last).unwrap_err().to_string();
    assert!(error.contains("5000") && error.contains("1032"), "{error}");
    assert_eq!(model.forward(&[], Rows::Last).unwrap(), Vec::<f32>::new());
    assert!(model.is_empty());
}

fn load_bytes(bytes: &[u8], numerics: Numerics) -> Result<Box<dyn Model>, EngineError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, bytes).unwrap();
    let file = GgufFile::open(&path)?;
    load(&file, &Device::Cpu, numerics, &mut |_, _| {}, &|| false)
}

/// The file with the one occurrence of `from` replaced by the equally long `to`.
fn patched(from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = std::fs::read(fixture("mini-q4k.gguf")).unwrap();
    let at = bytes.windows(from.len()).position(|w| w == from.as_bytes()).unwrap();
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    bytes
}

#[test]
fn what_is_missing_is_named() {
    for (from, to, words) in [
        ("blk.2.ffn_up.weight", "blk.9.ffn_up.weight", "tensor 'blk.2.ffn_up.weight' is missing"),
        ("qwen35.ssm.conv_kernel", "qwen35.ssm.conv_kernal", "'qwen35.ssm.conv_kernel' is missing"),
        ("token_embd.weight", "token_embt.weight", "tensor 'token_embd.weight' is missing"),
        ("general.architecture", "general.architectura", "'general.architecture' is missing"),
    ] {
        let error = load_bytes(&patched(from, to), Numerics::Fast).err().expect(from).to_string();
        assert!(error.contains(words), "{error}");
    }
    let other = Writer::default().text("general.architecture", "gpt9").finish();
    let error = load_bytes(&other, Numerics::Fast).err().unwrap().to_string();
    assert!(error.contains("gpt9") && error.contains("qwen35, llama"), "{error}");
}

#[test]
fn an_unsupported_tensor_type_is_named() {
    let Some(path) = shared_fixture("fixture-mini-qwen35/mini-ud3.gguf") else {
        return;
    };
    let bytes = std::fs::read(path).unwrap();
    let error = load_bytes(&bytes, Numerics::Fast).err().unwrap().to_string();
    assert!(error.contains("tensor blk.") && error.contains("type IQ"), "{error}");
    assert!(error.contains("Q4_K_M"), "{error}");
}

/// The Q4_K file with the tensor's first bytes replaced.
fn with_bytes(tensor: &str, bytes: &[u8]) -> Vec<u8> {
    let mut file = std::fs::read(fixture("mini-q4k.gguf")).unwrap();
    let at = GgufFile::open(&fixture("mini-q4k.gguf")).unwrap().tensor(tensor).unwrap().offset;
    file[at..at + bytes.len()].copy_from_slice(bytes);
    file
}

#[test]
fn damaged_small_weights_are_refused_by_name() {
    for value in [f32::NAN, f32::INFINITY] {
        let bytes = with_bytes("blk.1.attn_norm.weight", &value.to_le_bytes());
        let error = load_bytes(&bytes, Numerics::Fast).err().unwrap().to_string();
        assert!(error.contains("blk.1.attn_norm.weight"), "{error}");
    }
}

#[test]
fn damaged_matrices_give_an_error_instead_of_text() {
    // The first half-precision number of a block is its scale; 0x7e00 is NaN, 0x7c00 infinity.
    for tensor in ["blk.0.ssm_out.weight", "blk.1.ffn_down.weight", "token_embd.weight"] {
        for scale in [0x7e00u16, 0x7c00] {
            for numerics in [Numerics::Fast, Numerics::Exact] {
                let bytes = with_bytes(tensor, &scale.to_le_bytes());
                let mut model = load_bytes(&bytes, numerics).unwrap();
                let Err(error) = model.forward(&[0, 2, 3], Rows::Last) else {
                    panic!("{tensor} {numerics:?}: the damage was not noticed")
                };
                let noticed = matches!(
                    error,
                    EngineError::NonFinite { .. } | EngineError::NonFiniteInput { .. }
                );
                assert!(noticed, "{tensor} {numerics:?}: {error}");
                let error = model.forward(&[1], Rows::Last).unwrap_err();
                assert!(matches!(error, EngineError::Broken), "{error}");
                assert!(model.snapshot().is_err());
                model.reset();
                assert_eq!(model.len(), 0);
            }
        }
    }
}

#[test]
fn loading_reports_progress_and_can_be_cancelled() {
    let file = GgufFile::open(&fixture("mini-q4k.gguf")).unwrap();
    let mut seen = Vec::new();
    load(&file, &Device::Cpu, Numerics::Fast, &mut |d, t| seen.push((d, t)), &|| false).unwrap();
    assert!(seen.len() > 30 && seen.windows(2).all(|w| w[0].0 <= w[1].0), "{seen:?}");
    let &(done, total) = seen.last().unwrap();
    assert_eq!(done, total);
    let cancelled = load(&file, &Device::Cpu, Numerics::Fast, &mut |_, _| {}, &|| true);
    assert!(matches!(cancelled.err(), Some(EngineError::Cancelled)));
}

#[test]
fn changed_headers_never_make_loading_panic() {
    let bytes = std::fs::read(fixture("mini-q4k.gguf")).unwrap();
    let file = GgufFile::open(&fixture("mini-q4k.gguf")).unwrap();
    // From the first hyper-parameter to the tokenizer, and the tensor table.
    let find = |text: &str| bytes.windows(text.len()).position(|w| w == text.as_bytes()).unwrap();
    let (keys, end) = (find("qwen35.block_count"), find("tokenizer.ggml"));
    let table = find("token_embd.weight").min(find("blk.0."));
    let head = file.tensors().iter().map(|t| t.offset).min().unwrap();
    let mut numbers = Numbers(21);
    let mut loaded = 0;
    for round in 0..150 {
        let mut broken = bytes.clone();
        let (from, to) = if round % 2 == 0 { (keys, end) } else { (table, head) };
        let at = from + numbers.below(to - from);
        broken[at] = if numbers.below(2) == 0 { 0xff } else { numbers.next() as u8 };
        if let Ok(mut model) = load_bytes(&broken, Numerics::Fast) {
            loaded += 1;
            let _ = model.forward(&[1, 2, 3], Rows::Last);
        }
    }
    assert!(loaded > 0, "every change was refused, so the test shows little");
}

/// A small random model in a layout `candle_transformers` reads; f32 throughout.
fn tiny(arch: &str) -> Vec<u8> {
    let (width, heads, kv_heads, ffn, vocab) = (64u64, 4u64, 2u64, 96u64, 50u64);
    let head = width / heads;
    let key = |s: &str| format!("{arch}.{s}");
    let mut file = Writer::default()
        .text("general.architecture", arch)
        .u32("general.dtype", 0)
        .u32(&key("attention.head_count"), heads as u32)
        .u32(&key("attention.head_count_kv"), kv_heads as u32)
        .u32(&key("attention.key_length"), head as u32)
        .u32(&key("block_count"), 2)
        .u32(&key("embedding_length"), width as u32)
        .u32(&key("context_length"), 64)
        .u32(&key("rope.dimension_count"), head as u32)
        .f32(&key("attention.layer_norm_rms_epsilon"), 1e-6)
        .f32(&key("rope.freq_base"), 10_000.0);
    let mut numbers = Numbers(9);
    let mut tensors = vec![
        ("token_embd.weight".to_string(), vec![width, vocab]),
        ("output_norm.weight".to_string(), vec![width]),
        ("output.weight".to_string(), vec![width, vocab]),
    ];
    for i in 0..2 {
        for (name, ne) in [
            ("attn_q.weight", vec![width, width]),
            ("attn_k.weight", vec![width, head * kv_heads]),
            ("attn_v.weight", vec![width, head * kv_heads]),
            ("attn_output.weight", vec![width, width]),
            ("attn_q.bias", vec![width]),
            ("attn_k.bias", vec![head * kv_heads]),
            ("attn_v.bias", vec![head * kv_heads]),
            ("attn_q_norm.weight", vec![head]),
            ("attn_k_norm.weight", vec![head]),
            ("attn_norm.weight", vec![width]),
            ("ffn_norm.weight", vec![width]),
            ("ffn_gate.weight", vec![width, ffn]),
            ("ffn_up.weight", vec![width, ffn]),
            ("ffn_down.weight", vec![ffn, width]),
        ] {
            tensors.push((format!("blk.{i}.{name}"), ne));
        }
    }
    for (name, ne) in tensors {
        let count = ne.iter().product::<u64>();
        let data: Vec<u8> =
            (0..count).flat_map(|_| (numbers.signed() * 0.3).to_le_bytes()).collect();
        file = file.tensor(&name, &ne, 0, &data);
    }
    file.finish()
}

#[test]
fn wrapped_architectures_agree_with_themselves_and_do_not_rewind() {
    for arch in ["llama", "qwen2", "qwen3"] {
        let mut model =
            load_bytes(&tiny(arch), Numerics::Fast).unwrap_or_else(|e| panic!("{arch}: {e}"));
        assert_eq!((model.vocab(), model.context()), (50, 64), "{arch}");
        let ids: Vec<u32> = (0..20).map(|i| (i * 7) % 50).collect();
        let all = model.forward(&ids, Rows::All).unwrap();
        assert_eq!(all.len(), 20 * 50);
        for cut in [1, 9, 19] {
            model.reset();
            let first = model.forward(&ids[..cut], Rows::Last).unwrap();
            let last = model.forward(&ids[cut..], Rows::Last).unwrap();
            let off = gap(&first, &all[(cut - 1) * 50..cut * 50]).max(gap(&last, &all[19 * 50..]));
            assert!(off < 1e-3, "{arch} cut at {cut}: off by {off}");
        }
        assert!(model.forward(&[0; 60], Rows::Last).is_err(), "{arch}: context");
        assert!(!model.can_rewind());
        let error = model.snapshot().err().unwrap().to_string();
        assert!(error.contains(arch) && error.contains("not supported"), "{error}");
    }
}
