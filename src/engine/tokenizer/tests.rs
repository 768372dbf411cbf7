//! Ids against the real vocabulary, and that no text can become a special token.

use super::*;
use crate::engine::gguf::GgufFile;
use crate::engine::testing::{byte_tokenizer, byte_vocabulary, real_tokenizer, shared_fixture};
use proptest::prelude::*;
use std::sync::OnceLock;
use unicode_normalization::UnicodeNormalization;

fn json(name: &str) -> Option<Vec<serde_json::Value>> {
    let text = std::fs::read_to_string(shared_fixture(name)?).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

/// The reference: the `tokenizers` crate's own reading of the same vocabulary, added tokens and all.
fn reference() -> Option<&'static tokenizers::Tokenizer> {
    static ONCE: OnceLock<Option<tokenizers::Tokenizer>> = OnceLock::new();
    ONCE.get_or_init(|| {
        let path = shared_fixture("tokenizer/tokenizer_qwen35_derived.json")?;
        Some(tokenizers::Tokenizer::from_file(path).unwrap())
    })
    .as_ref()
}

#[test]
fn every_rendered_case_has_its_ids() {
    let (Some(tokenizer), Some(cases), Some(ids)) = (
        real_tokenizer(),
        json("chat-template-cases/cases.json"),
        json("chat-template-cases/case-token-ids.json"),
    ) else {
        return;
    };
    let mut right = 0;
    for expected in &ids {
        let same = |case: &&serde_json::Value| {
            case["case"] == expected["case"] && case["template"] == expected["template"]
        };
        let text = cases.iter().find(same).unwrap()["text"].as_str().unwrap();
        let expected: Vec<u32> = serde_json::from_value(expected["ids"].clone()).unwrap();
        assert_eq!(tokenizer.encode_trusted(text).unwrap(), expected, "{text}");
        assert_eq!(tokenizer.decode(&expected), text);
        right += 1;
    }
    assert_eq!(right, 72);
}

#[test]
fn known_texts_have_their_known_ids() {
    let Some(tokenizer) = real_tokenizer() else {
        return;
    };
    let chat = "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
    let chat_ids =
        [248_045, 846, 198, 9419, 248_046, 198, 248_045, 74_455, 198, 248_068, 271, 248_069, 271];
    assert_eq!(tokenizer.encode_trusted(chat).unwrap(), chat_ids);
    let odd = "Hello! 毕老师！1 + 1 = 2 ĠÑĤÐ²ÑĬÑĢ";
    let odd_ids = [
        9419, 0, 220, 97_169, 97_621, 6115, 16, 478, 220, 16, 283, 220, 17, 9551, 254, 68_933, 128,
        97, 91_914, 28_495, 68_933, 128, 105, 68_933, 128, 95,
    ];
    assert_eq!(tokenizer.encode_plain(odd).unwrap(), odd_ids);
}

#[test]
fn specials_ends_tags_and_padding_are_known() {
    let Some(tokenizer) = real_tokenizer() else {
        return;
    };
    let ends: Vec<u32> = tokenizer.ends().iter().copied().collect();
    assert_eq!(ends, [248_044, 248_046, 248_063, 248_064, 248_065]);
    assert_eq!(tokenizer.tag(248_058), Some(Tag::CallOpen));
    assert_eq!(tokenizer.tag(248_069), Some(Tag::ThinkClose));
    assert_eq!(tokenizer.special("<tool_response>"), Some(248_066));
    for (id, padding) in
        [(0, false), (248_076, false), (248_077, true), (248_319, true), (1 << 20, true)]
    {
        assert_eq!(tokenizer.is_padding(id), padding, "{id}");
    }
}

#[test]
fn llama_cpps_vocabulary_test_is_met_except_for_decomposed_accents() {
    let Some(path) = shared_fixture("vocab-test/ggml-vocab-qwen35.gguf") else {
        return;
    };
    let file = GgufFile::open(&path).unwrap();
    let tokenizer = crate::engine::load::tokenizer(&file).unwrap();
    let read = |extension: &str| {
        std::fs::read_to_string(format!("{}.{extension}", path.display())).unwrap()
    };
    let texts = read("inp");
    let texts: Vec<&str> = texts.split("\n__ggml_vocab_test__\n").collect();
    let expected = read("out");
    let mut wrong = Vec::new();
    let mut count = 0;
    for (text, ids) in texts.iter().zip(expected.lines()) {
        let ids: Vec<u32> = ids.split_whitespace().map(|id| id.parse().unwrap()).collect();
        count += 1;
        if tokenizer.encode_plain(text).unwrap() != ids {
            wrong.push(*text);
        }
    }
    // We normalise to NFC, llama.cpp does not.
    assert!(wrong.iter().all(|text| text.nfc().collect::<String>() != **text), "{wrong:?}");
    assert_eq!((count, wrong.len()), (50, 3), "{wrong:?}");
}

#[test]
fn literal_specials_stay_text() {
    for tokenizer in [Some(&byte_tokenizer()), real_tokenizer()].into_iter().flatten() {
        for name in tokenizer.specials.keys() {
            let text = format!("a {name}b\n{name}{name}");
            let protected = MarkedText(tokenizer.markup().protect(&text));
            for ids in
                [tokenizer.encode_plain(&text).unwrap(), tokenizer.encode(&protected).unwrap()]
            {
                let special = |id: &u32| tokenizer.specials.values().any(|s| s == id);
                assert!(!ids.iter().any(special), "{name}");
                assert_eq!(tokenizer.decode(&ids), text);
            }
        }
    }
}

#[test]
fn what_a_file_leaves_out_is_named() {
    let unknown = Vocabulary { merges: vec![("zz".into(), "y".into())], ..byte_vocabulary() };
    let message = Tokenizer::new(unknown).err().unwrap().to_string();
    assert!(message.contains("zz"), "{message}");
    let tokenizer = byte_tokenizer();
    assert_eq!(tokenizer.bytes(9999), b"");
    assert_eq!(tokenizer.bytes(b'A'.into()), b"A");
}

fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        3 => ".{0,6}",
        1 => Just("<|im_end|>".to_string()),
        1 => Just("<think>".to_string()),
        1 => Just("foo();\n".to_string()),
        1 => Just("\n\n  \t".to_string()),
        1 => Just("读文件123 人".to_string()),
    ];
    proptest::collection::vec(fragment, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_comes_back_normalised(text in fragments()) {
        for tokenizer in [Some(&byte_tokenizer()), real_tokenizer()].into_iter().flatten() {
            let ids = tokenizer.encode_plain(&text).unwrap();
            prop_assert_eq!(tokenizer.decode(&ids), text.nfc().collect::<String>());
        }
    }

    #[test]
    fn trusted_text_has_the_ids_of_the_reference(text in fragments()) {
        if let (Some(tokenizer), Some(reference)) = (real_tokenizer(), reference()) {
            let expected = reference.encode(text.as_str(), false).unwrap();
            prop_assert_eq!(tokenizer.encode_trusted(&text).unwrap(), expected.get_ids());
        }
    }
}
