//! Going back: what is reused, what is dropped.

use super::*;
use crate::engine::testing::Reciter;

fn state(model: Reciter, budget: usize) -> State {
    State::new(Box::new(model), budget)
}

fn read(state: &mut State, tokens: &[u32]) {
    state.advance(tokens).unwrap();
    state.keep().unwrap();
}

#[test]
fn a_longer_target_continues_where_the_state_is() {
    let mut state = state(Reciter::new(&[]), 1000);
    read(&mut state, &[1, 2, 3]);
    assert_eq!(state.rewind_to(&[1, 2, 3, 4]), 3);
    assert_eq!(state.tokens(), [1, 2, 3]);
}

#[test]
fn a_difference_goes_back_to_the_last_snapshot_before_it() {
    let model = Reciter::new(&[]);
    let record = model.record();
    let mut state = state(model, 1000);
    read(&mut state, &[1, 2]);
    read(&mut state, &[3, 4]);
    read(&mut state, &[5, 6]);
    assert_eq!(state.rewind_to(&[1, 2, 3, 4, 5, 9]), 4);
    assert_eq!(state.tokens(), [1, 2, 3, 4]);
    read(&mut state, &[7]);
    // The snapshot at 6 is gone with the tokens it stood on.
    assert_eq!(state.rewind_to(&[1, 2, 3, 4, 7]), 4);
    assert_eq!(state.rewind_to(&[9]), 0);
    assert_eq!(record.lock().unwrap().restores, [4, 4]);
}

#[test]
fn the_same_target_again_leaves_a_token_to_compute() {
    let mut state = state(Reciter::new(&[]), 1000);
    read(&mut state, &[1, 2]);
    read(&mut state, &[3]);
    assert_eq!(state.rewind_to(&[1, 2, 3]), 2);
}

#[test]
fn without_snapshots_a_difference_starts_anew() {
    for mut state in [state(Reciter::new(&[]).without_rewind(), 1000), state(Reciter::new(&[]), 0)]
    {
        read(&mut state, &[1, 2]);
        read(&mut state, &[3, 4]);
        assert_eq!(state.rewind_to(&[1, 2, 3, 5]), 0);
        assert!(state.tokens().is_empty());
    }
}

#[test]
fn the_budget_drops_inner_snapshots_that_cost_least() {
    // Each takes 100 bytes, so three fit.
    let mut state = state(Reciter::new(&[]), 300);
    for part in [&[1_u32; 5][..], &[2; 20], &[3; 2], &[4; 9], &[5; 9]] {
        read(&mut state, part);
    }
    let kept: Vec<usize> = state.snapshots.iter().map(Snapshot::len).collect();
    assert_eq!(kept, [5, 25, 45]);
}

#[test]
fn after_a_failure_nothing_is_left() {
    let mut state = state(Reciter::new(&[]), 1000);
    read(&mut state, &[1]);
    assert!(state.advance(&[9999]).is_err());
    assert!(state.tokens().is_empty() && state.snapshots.is_empty());
}
