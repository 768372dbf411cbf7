//! Tables of markdown and what is drawn for it.

use super::*;

fn drawn(text: &str, columns: usize) -> Vec<String> {
    render(text, columns, &Theme::plain())
        .iter()
        .map(|line| line.to_string().trim_end().to_owned())
        .collect()
}

#[test]
fn blocks_are_set_off_and_wrapped() {
    for (text, columns, want) in [
        ("# Title\ntext", 20, vec!["# Title", "", "text"]),
        ("a **b** `c`\nd", 20, vec!["a b c d"]),
        ("- one\n- two\n  - three\n\nend", 20, vec!["• one", "• two", "  • three", "", "end"]),
        ("9. nine\n10. ten wide", 9, vec!["9. nine", "10. ten", "    wide"]),
        ("> quoted words", 10, vec!["│ quoted", "│ words"]),
        ("```rust\nfn a() {\n\n}\n```\nx", 20, vec!["rust", "  fn a() {", "", "  }", "", "x"]),
        ("```\nunclosed", 20, vec!["  unclosed"]),
        ("[a](http://b) <http://c>", 40, vec!["a (http://b) http://c"]),
        ("<b>x</b>", 20, vec!["<b>x</b>"]),
        ("\u{1b}[2Jx", 20, vec!["␛[2Jx"]),
        ("你好，世界", 6, vec!["你好，", "世界"]),
        ("- [x] done", 20, vec!["• [x] done"]),
    ] {
        assert_eq!(drawn(text, columns), want, "{text:?}");
    }
}

#[test]
fn tables_align_or_become_lists() {
    let text = "| a | 名前 |\n|---|---|\n| 1 | x |\n";
    assert_eq!(drawn(text, 20), ["a │ 名前", "──┼─────", "1 │ x"]);
    assert_eq!(drawn(text, 5), ["• a:", "1", "  名", "前: x"]);
}

#[test]
fn a_last_line_that_may_change_its_meaning_waits() {
    assert_eq!(settled("text\n-"), "text\n");
    assert_eq!(settled("text\n``"), "text\n");
    assert_eq!(settled("text\n- item"), "text\n- item");
    assert_eq!(settled("1."), "");
    assert_eq!(settled("in 1999"), "in 1999");
}

#[test]
fn any_prefix_renders_within_the_width() {
    let text = "# T\n\n1. a **b `c` d** e\n\n> q\n\n| a | b |\n|---|---|\n| 世界 | x |\n\n```\n長い行のコード、です\n```\n";
    for end in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
        for line in render(&text[..end], 9, &Theme::plain()) {
            assert!(line.width() <= 9, "{:?}", line.to_string());
        }
    }
}
