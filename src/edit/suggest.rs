//! Paths that may have been meant by a misspelt one, for the message only.

/// Paths that may have been meant by `path`: the same file name elsewhere, or a few letters off.
pub(super) fn paths(path: &str, known: &[String]) -> Vec<String> {
    const MAX_PATHS: usize = 3;
    let path = path.trim_start_matches("./").to_lowercase();
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let allowed = (path.chars().count() + 2) / 5;
    let mut near: Vec<(usize, &String)> = known
        .iter()
        .filter_map(|other| {
            let plain = other.to_lowercase();
            let far = distance(&path, &plain, allowed);
            let same_name = (name(&plain) == name(&path)).then_some(allowed + 1);
            Some((far.or(same_name)?, other))
        })
        .collect();
    near.sort();
    near.into_iter().take(MAX_PATHS).map(|(_, path)| path.clone()).collect()
}

/// Letters to insert, delete, replace or swap with the next one to turn `a` into `b`, if at most
/// `most` (optimal string alignment distance).
fn distance(a: &str, b: &str, most: usize) -> Option<usize> {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (row, c) in a.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other) in b.iter().enumerate() {
            let replaced = last[column] + usize::from(c != other);
            let mut least = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *c == b[column - 1] && *other == a[row - 1] {
                least = least.min(before[column - 1] + 1);
            }
            current.push(least);
        }
        if current.iter().min() > Some(&most) {
            return None;
        }
        before = std::mem::replace(&mut last, current);
    }
    last.last().copied().filter(|far| *far <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_paths_are_guessed() {
        let known = ["src/config.rs", "src/main.rs", "README.md", "a.txt"].map(str::to_owned);
        for (given, expected) in [
            ("src/confg.rs", "src/config.rs"),
            ("config.rs", "src/config.rs"),
            ("src/mian.rs", "src/main.rs"),
            ("readme.MD", "README.md"),
        ] {
            assert_eq!(paths(given, &known).first().map(String::as_str), Some(expected));
        }
        assert!(paths("lib/other.py", &known).is_empty());
    }
}
