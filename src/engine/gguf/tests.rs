//! Reading: what valid files give, and that no file, however broken, gives anything but an error.

use super::metadata::Array;
use super::testing::{Numbers, Writer, fixture};
use super::weights::{Linear, Numerics, load_f32};
use super::*;
use candle_core::{DType, Device, Tensor};

fn parse(bytes: &[u8]) -> Result<read::Parsed, EngineError> {
    read::parse(bytes, Path::new("test.gguf"))
}

fn message(bytes: &[u8]) -> String {
    parse(bytes).err().expect("must be refused").to_string()
}

#[test]
fn every_metadata_type_is_read() {
    let mut nested = Vec::new();
    nested.extend(9u32.to_le_bytes());
    nested.extend(1u64.to_le_bytes());
    nested.extend(4u32.to_le_bytes());
    nested.extend(2u64.to_le_bytes());
    nested.extend([7u32, 9].iter().flat_map(|n| n.to_le_bytes()));
    let file = Writer::default()
        .raw("u8", 0, &[200])
        .raw("i8", 1, &[0xfe])
        .raw("u16", 2, &500u16.to_le_bytes())
        .raw("i16", 3, &(-500i16).to_le_bytes())
        .u32("u32", 70_000)
        .raw("i32", 5, &(-70_000i32).to_le_bytes())
        .f32("f32", 0.5)
        .raw("bool", 7, &[1])
        .text("text", "读")
        .raw("nested", 9, &nested)
        .raw("u64", 10, &u64::MAX.to_le_bytes())
        .raw("i64", 11, &i64::MIN.to_le_bytes())
        .raw("f64", 12, &0.25f64.to_le_bytes())
        .finish();
    let metadata = parse(&file).unwrap().metadata;
    let want = [
        ("u8", Value::Unsigned(200)),
        ("i8", Value::Signed(-2)),
        ("u16", Value::Unsigned(500)),
        ("i16", Value::Signed(-500)),
        ("u32", Value::Unsigned(70_000)),
        ("i32", Value::Signed(-70_000)),
        ("f32", Value::Float(0.5)),
        ("bool", Value::Bool(true)),
        ("text", Value::Str("读".to_string())),
        ("nested", Value::Array(Array::Nested(vec![Array::Unsigned(vec![7, 9])]))),
        ("u64", Value::Unsigned(u64::MAX)),
        ("i64", Value::Signed(i64::MIN)),
        ("f64", Value::Float(0.25)),
    ];
    assert_eq!(metadata.len(), want.len());
    for (key, value) in want {
        assert_eq!(metadata.get(key), Some(&value), "{key}");
    }
}

#[test]
fn getters_name_the_key() {
    let file = Writer::default().text("a.name", "x").raw("a.n", 5, &(-1i32).to_le_bytes()).finish();
    let metadata = parse(&file).unwrap().metadata;
    assert_eq!(metadata.str("a.name").unwrap(), "x");
    assert_eq!(metadata.opt_usize("a.absent").unwrap(), None);
    for (error, key) in [
        (metadata.usize("a.absent").unwrap_err(), "a.absent"),
        (metadata.usize("a.name").unwrap_err(), "a.name"),
        (metadata.usize("a.n").unwrap_err(), "a.n"),
        (metadata.strings("a.name").unwrap_err(), "a.name"),
    ] {
        assert!(error.to_string().contains(key), "{error}");
    }
}

#[test]
fn the_fixture_has_its_keys_and_tensors() {
    let file = GgufFile::open(&fixture("mini-q4k.gguf")).unwrap();
    assert_eq!(file.architecture().unwrap(), "qwen35");
    assert_eq!(file.metadata().strings("tokenizer.ggml.tokens").unwrap().len(), 1032);
    let table = file.tensor("token_embd.weight").unwrap();
    assert_eq!(table.shape, [1032, 256]);
    let size: usize = file.tensors().iter().map(|t| file.bytes(t).len()).sum();
    assert!(size > 3_000_000 && size < file.len());
}

#[test]
fn each_broken_head_has_its_own_message() {
    let good = Writer::default().text("k", "v").finish();
    let mut version = good.clone();
    version[4] = 9;
    let mut big = good.clone();
    big[4..8].copy_from_slice(&3u32.to_be_bytes());
    for (bytes, words) in [
        (b"".to_vec(), "empty"),
        (b"<!DOCTYPE html>".to_vec(), "web page"),
        (b"version https://git-lfs".to_vec(), "git lfs pull"),
        (b"\x7fELF".to_vec(), "not a GGUF file"),
        (b"GGUF\x03\0".to_vec(), "truncated"),
        (version, "version 9"),
        (big, "big-endian"),
    ] {
        assert!(message(&bytes).contains(words), "{}", message(&bytes));
    }
    let missing = GgufFile::open(Path::new("no/such.gguf")).err().unwrap().to_string();
    assert!(missing.contains("not found") && missing.contains("no/such.gguf"), "{missing}");
    assert!(GgufFile::open(Path::new(".")).is_err(), "a folder is not a model");
}

#[test]
fn hostile_counts_and_lengths_are_refused() {
    let huge = u64::MAX.to_le_bytes();
    let mut array = 0u32.to_le_bytes().to_vec();
    array.extend(huge);
    let mut deep = Vec::new();
    for _ in 0..100_000 {
        deep.extend(9u32.to_le_bytes());
        deep.extend(1u64.to_le_bytes());
    }
    let mut counts = Writer::default().finish();
    counts[8..16].copy_from_slice(&huge);
    let mut pairs = Writer::default().finish();
    pairs[16..24].copy_from_slice(&huge);
    let row = |ne: &[u64], kind, offset| Writer::default().row("t", ne, kind, offset).finish();
    for (what, bytes) in [
        ("string length", Writer::default().raw("k", 8, &huge).finish()),
        ("array length", Writer::default().raw("k", 9, &array).finish()),
        ("nesting", Writer::default().raw("k", 9, &deep).finish()),
        ("value type", Writer::default().raw("k", 99, &[]).finish()),
        ("tensor count", counts),
        ("pair count", pairs),
        ("duplicate key", Writer::default().u32("k", 1).u32("k", 2).finish()),
        ("alignment 0", Writer::default().u32("general.alignment", 0).finish()),
        ("alignment 3", Writer::default().u32("general.alignment", 3).finish()),
        ("dimensions", row(&[1, 1, 1, 1, 1], 0, 0)),
        ("product", row(&[1 << 62, 1 << 62], 0, 0)),
        ("row width", row(&[33], 2, 0)),
        ("offset", row(&[8], 0, u64::MAX - 31)),
        ("misaligned offset", row(&[8], 0, 4)),
        ("beyond the end", row(&[8], 0, 1 << 40)),
        ("no data", row(&[8], 0, 0)),
        ("duplicate tensor", Writer::default().row("t", &[], 0, 0).row("t", &[], 0, 0).finish()),
    ] {
        assert!(parse(&bytes).is_err(), "{what} was accepted");
    }
}

#[test]
fn a_cut_file_says_what_it_needs_and_has() {
    let path = fixture("mini-q4k.gguf");
    let bytes = std::fs::read(&path).unwrap();
    let cut = &bytes[..bytes.len() - 1000];
    let text = message(cut);
    assert!(text.contains("truncated") && text.contains(&cut.len().to_string()), "{text}");
    assert!(text.contains(&bytes.len().to_string()), "{text}");
}

#[test]
fn no_cut_and_no_changed_byte_makes_the_reader_panic() {
    let bytes = std::fs::read(fixture("mini-q4k.gguf")).unwrap();
    let first = GgufFile::open(&fixture("mini-q4k.gguf")).unwrap();
    let head = first.tensors().iter().map(|t| t.offset).min().unwrap();
    let step = head / 400;
    for at in (0..head).step_by(step).chain([bytes.len() / 2, bytes.len() - 1]) {
        assert!(parse(&bytes[..at]).is_err(), "cut at {at}");
    }
    let mut numbers = Numbers(7);
    for _ in 0..600 {
        let mut broken = bytes[..head].to_vec();
        for _ in 0..=numbers.below(4) {
            let at = numbers.below(head);
            broken[at] = if numbers.below(2) == 0 { 0xff } else { numbers.next() as u8 };
        }
        // The tail of a real file follows, so that sizes can pass.
        broken.extend(&bytes[head..]);
        if let Ok(parsed) = parse(&broken) {
            for t in parsed.tensors {
                assert!(t.offset + t.size <= broken.len(), "{} is outside", t.name);
            }
        }
    }
}

#[test]
fn supported_types_decode_as_the_reference_does() {
    let file = GgufFile::open(&fixture("quant-vectors.gguf")).unwrap();
    let device = Device::Cpu;
    let (mut decoded, mut refused) = (Vec::new(), Vec::new());
    for info in file.tensors().iter().filter(|t| t.name.starts_with("w.")) {
        let name = info.name.trim_start_matches("w.");
        let linear = match Linear::load(&file, info, &device, Numerics::Exact) {
            Ok(linear) => linear,
            Err(error) => {
                assert!(matches!(error, EngineError::TensorType { .. }), "{error}");
                assert!(error.to_string().contains(&format!("type {name},")), "{error}");
                refused.push(name);
                continue;
            }
        };
        let want = load_f32(&file, file.tensor(&format!("f32.{name}")).unwrap(), &device).unwrap();
        let want: Vec<f32> = want.flatten_all().unwrap().to_vec1().unwrap();
        let got: Vec<f32> =
            linear.embed(&[0, 1, 2]).unwrap().flatten_all().unwrap().to_vec1().unwrap();
        for (i, (got, want)) in got.iter().zip(&want).enumerate() {
            let ulp = want.abs() * f32::EPSILON;
            assert!((got - want).abs() <= ulp, "{name}[{i}]: {got} for {want}");
        }
        let act = load_f32(&file, file.tensor("act").unwrap(), &device).unwrap();
        for rows in [1, 9] {
            check_product(&linear, &act, &want, rows, name);
        }
        decoded.push(name);
    }
    decoded.sort_unstable();
    let all = "BF16 F16 Q2_K Q3_K Q4_0 Q4_1 Q4_K Q5_0 Q5_1 Q5_K Q6_K Q8_0";
    assert_eq!(decoded.join(" "), all);
    assert!(refused.contains(&"IQ4_XS") && refused.len() >= 10, "{refused:?}");
}

/// `Exact` products must equal the dot product of decoded weights, for few and for many rows.
fn check_product(linear: &Linear, act: &Tensor, weights: &[f32], rows: usize, name: &str) {
    let x = act.unsqueeze(0).unwrap().repeat((rows, 1)).unwrap();
    let y: Vec<Vec<f32>> = linear.forward(&x).unwrap().to_vec2().unwrap();
    let act: Vec<f32> = act.to_vec1().unwrap();
    for row in &y {
        for (y, w) in row.iter().zip(weights.chunks(act.len())) {
            let exact: f64 = w.iter().zip(&act).map(|(w, a)| f64::from(*w) * f64::from(*a)).sum();
            assert!((f64::from(*y) - exact).abs() < 1e-5, "{name}: {y} for {exact}");
        }
    }
    assert_eq!(y.len(), rows);
}

#[test]
fn a_large_matrix_is_multiplied_in_blocks() {
    let (rows, columns) = (700, 2048);
    let mut numbers = Numbers(3);
    let values: Vec<f32> = (0..rows * columns).map(|_| numbers.signed()).collect();
    let dense = Tensor::from_vec(values, (rows, columns), &Device::Cpu).unwrap();
    let half = dense.to_dtype(DType::BF16).unwrap();
    let raw: Vec<u8> = half
        .flatten_all()
        .unwrap()
        .to_vec1::<half::bf16>()
        .unwrap()
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.gguf");
    let bytes = Writer::default().tensor("w", &[columns as u64, rows as u64], 30, &raw).finish();
    std::fs::write(&path, bytes).unwrap();
    let file = GgufFile::open(&path).unwrap();
    let linear =
        Linear::load(&file, file.tensor("w").unwrap(), &Device::Cpu, Numerics::Fast).unwrap();
    let x: Vec<f32> = (0..6 * columns).map(|_| numbers.signed()).collect();
    let x = Tensor::from_vec(x, (6, columns), &Device::Cpu).unwrap();
    let want = x.matmul(&half.to_dtype(DType::F32).unwrap().t().unwrap()).unwrap();
    for n in [1, 3, 6] {
        let got = linear.forward(&x.narrow(0, 0, n).unwrap()).unwrap();
        let gap = (got - want.narrow(0, 0, n).unwrap()).unwrap().abs().unwrap();
        let gap = gap.flatten_all().unwrap().max(0).unwrap().to_scalar::<f32>().unwrap();
        assert!(gap < 1e-3, "{n} rows: {gap}");
    }
}
