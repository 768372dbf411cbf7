//! From logits to the next token.
//!
//! Here: penalties, temperature, top-k, top-p, min-p in that order (the order of Hugging Face's
//! logits warpers), and a seeded generator. Not here: what a token means for the turn (`decode.rs`).
//! Invariant: the same seed, logits and history give the same token on every machine, and a row with
//! a value that is not finite is an error, never a token.

use super::error::EngineError;
use crate::protocol::Sampling;
use std::collections::BTreeSet;

/// How far back the repetition penalty looks, in tokens.
const REPETITION_WINDOW: usize = 64;

/// Picks tokens for one step.
pub struct Sampler {
    settings: Sampling,
    random: Random,
    /// Tokens generated in this step.
    generated: BTreeSet<u32>,
}

impl Sampler {
    /// A sampler for one step; `position` separates the steps of a conversation, which share a seed.
    pub fn new(settings: &Sampling, position: usize) -> Self {
        Self {
            settings: settings.clone(),
            random: Random::new(settings.seed ^ (position as u64).rotate_left(32)),
            generated: BTreeSet::new(),
        }
    }

    /// Notes that the step now holds `token`, sampled or forced.
    pub fn accept(&mut self, token: u32) {
        self.generated.insert(token);
    }

    /// The next token. `logits` is one row and is spoiled; `history` is the context, newest last;
    /// tokens for which `forbidden` holds are never picked.
    ///
    /// Errors: a logit that is not finite; all tokens forbidden.
    pub fn sample(
        &mut self,
        logits: &mut [f32],
        history: &[u32],
        forbidden: impl Fn(u32) -> bool,
    ) -> Result<u32, EngineError> {
        if logits.is_empty() || logits.iter().any(|logit| !logit.is_finite()) {
            return Err(EngineError::NonFinite { position: history.len() });
        }
        self.penalise(logits, history);
        let temperature = self.settings.temperature;
        let allowed = (0_u32..).zip(logits.iter().copied()).filter(|(id, _)| !forbidden(*id));
        let picked = if temperature <= 0.0 {
            allowed.fold(None, |best: Option<(u32, f32)>, (id, logit)| match best {
                Some(best) if best.1 >= logit => Some(best),
                Some(_) | None => Some((id, logit)),
            })
        } else {
            let candidates = allowed.map(|(id, logit)| (id, logit / temperature)).collect();
            self.draw(candidates)
        };
        let error =
            || EngineError::Tokenizer { detail: "it marks every token as padding".to_string() };
        picked.map(|(id, _)| id).ok_or_else(error)
    }

    fn penalise(&self, logits: &mut [f32], history: &[u32]) {
        let Sampling { presence_penalty, repetition_penalty, .. } = self.settings;
        if repetition_penalty != 1.0 && repetition_penalty > 0.0 {
            let recent: BTreeSet<u32> =
                history.iter().rev().take(REPETITION_WINDOW).copied().collect();
            for id in recent {
                if let Some(logit) = logits.get_mut(id as usize) {
                    let factor =
                        if *logit > 0.0 { 1.0 / repetition_penalty } else { repetition_penalty };
                    *logit *= factor;
                }
            }
        }
        if presence_penalty != 0.0 {
            for &id in &self.generated {
                if let Some(logit) = logits.get_mut(id as usize) {
                    *logit -= presence_penalty;
                }
            }
        }
    }

    /// Draws from the candidates left by top-k, top-p and min-p. Values are logits over temperature.
    fn draw(&mut self, mut candidates: Vec<(u32, f32)>) -> Option<(u32, f32)> {
        // Likeliest first, ties by id, so that the result does not depend on the sort.
        let order = |a: &(u32, f32), b: &(u32, f32)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        let Sampling { top_k, top_p, min_p, .. } = self.settings;
        if top_k > 0 && top_k < candidates.len() {
            candidates.select_nth_unstable_by(top_k - 1, order);
            candidates.truncate(top_k);
        }
        candidates.sort_unstable_by(order);
        let highest = candidates.first()?.1;
        let mut weights: Vec<f64> =
            candidates.iter().map(|(_, logit)| f64::from(logit - highest).exp()).collect();
        let nucleus = nucleus(&weights, f64::from(top_p));
        weights.truncate(nucleus);
        // Weights are relative to the likeliest token, which is what min-p compares with.
        let likely = weights.iter().take_while(|weight| **weight >= f64::from(min_p)).count();
        weights.truncate(likely.max(1));
        let mut left = self.random.unit() * weights.iter().sum::<f64>();
        for (candidate, weight) in candidates.iter().zip(&weights) {
            left -= weight;
            if left < 0.0 {
                return Some(*candidate);
            }
        }
        // Rounding may leave a crumb after the last one.
        candidates.get(weights.len() - 1).copied()
    }
}

/// How many of the sorted weights are needed to hold the part `top_p` of the whole; at least one.
fn nucleus(weights: &[f64], top_p: f64) -> usize {
    if top_p >= 1.0 {
        return weights.len();
    }
    let wanted = top_p * weights.iter().sum::<f64>();
    let mut sum = 0.0;
    let needed = weights.iter().take_while(|weight| {
        let more = sum < wanted;
        sum += **weight;
        more
    });
    needed.count().max(1)
}

/// xoshiro256++ seeded by splitmix64. Source: D. Blackman and S. Vigna, `prng.di.unimi.it`.
struct Random {
    state: [u64; 4],
}

impl Random {
    fn new(seed: u64) -> Self {
        let mut state = seed;
        let mut mix = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        };
        Self { state: [mix(), mix(), mix(), mix()] }
    }

    fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// In [0, 1), 53 random bits.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> Sampling {
        Sampling { top_k: 0, top_p: 1.0, ..Sampling::default() }
    }

    /// How often each of the tokens 0..4 is drawn from logits ln(.5), ln(.3), ln(.15), ln(.05).
    fn counts(settings: &Sampling, history: &[u32]) -> [usize; 4] {
        let mut sampler = Sampler::new(settings, 0);
        for &id in history {
            sampler.accept(id);
        }
        let mut counts = [0; 4];
        for _ in 0..4000 {
            let mut logits = [0.5_f32.ln(), 0.3_f32.ln(), 0.15_f32.ln(), 0.05_f32.ln(), 9.0];
            let id = sampler.sample(&mut logits, history, |id| id == 4).unwrap();
            counts[id as usize] += 1;
        }
        counts
    }

    fn near(counts: [usize; 4], shares: [f64; 4]) {
        for (count, share) in counts.iter().zip(shares) {
            let expected = share * 4000.0;
            // Five standard deviations.
            let slack = 5.0 * (expected * (1.0 - share)).sqrt();
            assert!((*count as f64 - expected).abs() <= slack, "{counts:?} is not {shares:?}");
        }
    }

    #[test]
    fn greedy_takes_the_likeliest_allowed_token_and_the_first_of_equals() {
        let greedy = Sampling { temperature: 0.0, ..settings() };
        let mut sampler = Sampler::new(&greedy, 0);
        let row = [1.0, 3.0, 3.0, 7.0];
        assert_eq!(sampler.sample(&mut row.clone(), &[], |id| id == 3).unwrap(), 1);
        assert_eq!(sampler.sample(&mut row.clone(), &[], |_| false).unwrap(), 3);
        assert!(sampler.sample(&mut row.clone(), &[], |_| true).is_err());
    }

    #[test]
    fn draws_follow_the_distribution() {
        near(counts(&settings(), &[]), [0.5, 0.3, 0.15, 0.05]);
        let cold = Sampling { temperature: 0.5, ..settings() };
        let whole = 0.25 + 0.09 + 0.0225 + 0.0025;
        near(counts(&cold, &[]), [0.25 / whole, 0.09 / whole, 0.0225 / whole, 0.0025 / whole]);
    }

    #[test]
    fn each_limit_cuts_the_tail_it_names() {
        let two = [0.625, 0.375, 0.0, 0.0];
        near(counts(&Sampling { top_k: 2, ..settings() }, &[]), two);
        near(counts(&Sampling { top_p: 0.7, ..settings() }, &[]), two);
        near(counts(&Sampling { min_p: 0.5, ..settings() }, &[]), two);
        near(counts(&Sampling { top_k: 1, ..settings() }, &[]), [1.0, 0.0, 0.0, 0.0]);
        near(counts(&Sampling { top_p: 0.01, ..settings() }, &[]), [1.0, 0.0, 0.0, 0.0]);
        near(counts(&Sampling { min_p: 0.99, ..settings() }, &[]), [1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn penalties_lower_what_was_seen() {
        let presence = Sampling { presence_penalty: 100.0, ..settings() };
        near(counts(&presence, &[0]), [0.0, 0.6, 0.3, 0.1]);
        let repetition = Sampling { repetition_penalty: 2.0, ..settings() };
        // All four logits are negative, so the penalty squares the probability of token 0.
        near(counts(&repetition, &[0]), [1.0 / 3.0, 0.4, 0.2, 0.2 / 3.0]);
        let mut old = vec![0];
        old.extend([4; REPETITION_WINDOW]);
        near(counts(&repetition, &old), [0.5, 0.3, 0.15, 0.05]);
    }

    #[test]
    fn a_seed_decides_everything_and_positions_differ() {
        let draw = |seed, position| -> Vec<u32> {
            let mut sampler = Sampler::new(&Sampling { seed, ..settings() }, position);
            (0..50).map(|_| sampler.sample(&mut [0.0; 100], &[], |_| false).unwrap()).collect()
        };
        assert_eq!(draw(7, 3), draw(7, 3));
        assert_ne!(draw(7, 3), draw(8, 3));
        assert_ne!(draw(7, 3), draw(7, 4));
    }

    #[test]
    fn a_logit_that_is_not_finite_is_an_error() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let mut sampler = Sampler::new(&settings(), 0);
            let error = sampler.sample(&mut [0.0, bad], &[0; 9], |_| false).unwrap_err();
            assert!(matches!(error, EngineError::NonFinite { position: 9 }));
        }
    }
}
