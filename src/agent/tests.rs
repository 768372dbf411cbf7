//! Inputs in, effects out.

use super::{Agent, Effect, Input, Limits, Setup, Texts};
use crate::protocol::{
    Approval, CallId, Decision, Effort, EngineEvent, Event, FinishReason, HunkId, Message,
    ModelInfo, Outcome, Policy, Request, Role, SamplingOverrides, ToolCall, ToolKind, ToolOutput,
    ToolSpec, Usage, Verdict,
};

fn spec(name: &str, kind: ToolKind) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        kind,
        description: String::new(),
        parameters: serde_json::json!({}),
    }
}

fn setup(policy: Policy) -> Setup {
    Setup {
        system: "system".into(),
        tools: vec![
            spec("read", ToolKind::Read),
            spec("edit", ToolKind::Edit),
            spec("shell", ToolKind::Execute),
            spec("run_tests", ToolKind::Verify),
        ],
        policy,
        effort: Effort::Xhigh,
        sampling: SamplingOverrides::default(),
        limits: Limits { steps: 10, strikes: 2, repeats: 2, ..Limits::default() },
        verify_allowed: true,
        texts: Texts {
            empty_answer: "say something".into(),
            looped: "you repeat yourself".into(),
            repeated_call: "same call".into(),
            plan_only: "plan only".into(),
            denied: "denied".into(),
            interrupted: "interrupted".into(),
        },
        history: Vec::new(),
    }
}

/// Drives an agent and keeps what it wants.
struct Driver {
    agent: Agent,
    effects: Vec<Effect>,
}

impl Driver {
    fn new(policy: Policy) -> Self {
        let mut driver = Self { agent: Agent::new(setup(policy)), effects: Vec::new() };
        driver.give(Input::Engine(EngineEvent::Ready(ModelInfo::default())));
        driver
    }

    fn give(&mut self, input: Input) -> &mut Self {
        self.effects = self.agent.handle(input);
        self
    }

    fn ask(&mut self, text: &str) -> &mut Self {
        self.give(Input::UserTurn { text: text.into() })
    }

    fn model(&mut self, event: EngineEvent) -> &mut Self {
        self.give(Input::Engine(event))
    }

    fn calls(&mut self, calls: &[(&str, &str)]) -> &mut Self {
        for (name, arg) in calls {
            let mut args = crate::protocol::Args::new();
            args.insert("a".into(), (*arg).into());
            let call = ToolCall { id: CallId::default(), name: (*name).into(), args };
            self.model(EngineEvent::Call { call, repairs: Vec::new() });
        }
        self.stop()
    }

    fn stop(&mut self) -> &mut Self {
        self.end(FinishReason::Stop)
    }

    fn end(&mut self, reason: FinishReason) -> &mut Self {
        self.model(EngineEvent::Finished { reason, usage: Usage::default() })
    }

    fn says(&mut self, text: &str) -> &mut Self {
        self.model(EngineEvent::Text(text.into())).stop()
    }

    fn done(&mut self, call: u64, text: &str) -> &mut Self {
        self.give(Input::ToolDone { call: CallId(call), output: ToolOutput::done(text, text) })
    }

    fn request(&self) -> &Request {
        self.effects
            .iter()
            .find_map(|effect| match effect {
                Effect::Generate(request) => Some(request),
                _ => None,
            })
            .expect("a request")
    }

    fn outcome(&self) -> Option<&Outcome> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::Emit(Event::TurnFinished { outcome, .. }) => Some(outcome),
            _ => None,
        })
    }

    fn has(&self, wanted: &Effect) -> bool {
        self.effects.contains(wanted)
    }

    fn tail(&self, n: usize) -> Vec<(Role, &str)> {
        let messages: &[Message] = &self.agent.conversation;
        messages[messages.len() - n..].iter().map(|m| (m.role, m.text.as_str())).collect()
    }
}

#[test]
fn a_question_becomes_a_request_and_an_answer_ends_the_turn() {
    let mut d = Driver::new(Policy::Review);
    d.ask("hi");
    assert_eq!(d.request().messages.len(), 2);
    d.says("hello");
    assert_eq!(d.outcome(), Some(&Outcome::Done));
    assert!(d.agent.is_idle());
}

#[test]
fn a_message_before_the_weights_are_there_waits_for_them() {
    let mut d = Driver { agent: Agent::new(setup(Policy::Review)), effects: Vec::new() };
    d.ask("early");
    assert_eq!(d.effects, [Effect::Emit(Event::Queued { text: "early".into() })]);
    d.model(EngineEvent::Ready(ModelInfo::default()));
    assert_eq!(d.request().messages[1].text, "early");
}

#[test]
fn a_failed_engine_answers_every_message_with_its_remedy() {
    let mut d = Driver { agent: Agent::new(setup(Policy::Review)), effects: Vec::new() };
    d.model(EngineEvent::Failed { message: "no such file".into() }).ask("hi");
    assert!(
        matches!(&d.effects[..], [Effect::Emit(Event::Notice { text, .. })] if text == "no such file")
    );
}

#[test]
fn calls_run_one_after_the_other_and_outputs_come_in_call_order() {
    let mut d = Driver::new(Policy::Review);
    d.ask("go").calls(&[("read", "x"), ("run_tests", "")]);
    assert!(matches!(d.effects.last(), Some(Effect::RunTool(call)) if call.name == "read"));
    d.done(1, "one");
    assert!(matches!(d.effects.last(), Some(Effect::RunTool(call)) if call.name == "run_tests"));
    d.done(2, "two");
    assert_eq!(d.tail(2), [(Role::Tool, "one"), (Role::Tool, "two")]);
    assert_eq!(d.request().messages.len(), 5);
}

#[test]
fn a_run_of_edits_is_reviewed_together_before_anything_else_runs() {
    let mut d = Driver::new(Policy::Review);
    d.ask("go").calls(&[("edit", "x"), ("edit", "y"), ("run_tests", "")]);
    d.give(Input::Proposed { call: CallId(1), refused: None });
    d.give(Input::Proposed { call: CallId(2), refused: None });
    assert!(d.has(&Effect::ShowReview { calls: vec![CallId(1), CallId(2)] }));
    let decisions = vec![Decision { hunk: HunkId(1), verdict: Verdict::Accept, comment: None }];
    d.give(Input::Reviewed { decisions: decisions.clone() });
    let calls = vec![CallId(1), CallId(2)];
    assert_eq!(d.effects, [Effect::Write { calls, decisions: Some(decisions) }]);
    let outputs = vec![
        (CallId(1), ToolOutput::done("edited", "")),
        (CallId(2), ToolOutput::refused("refused")),
    ];
    d.give(Input::Written { outputs });
    assert!(matches!(d.effects.last(), Some(Effect::RunTool(call)) if call.name == "run_tests"));
}

#[test]
fn an_edit_that_misses_is_told_and_not_reviewed() {
    let mut d = Driver::new(Policy::Review);
    d.ask("go").calls(&[("edit", "x")]);
    let miss = ToolOutput::failed("not found; nearest is line 3", "miss");
    d.give(Input::Proposed { call: CallId(1), refused: Some(miss) });
    assert_eq!(d.tail(1), [(Role::Tool, "not found; nearest is line 3")]);
    assert_eq!(d.request().messages.len(), 4);
}

#[test]
fn policies_decide_who_is_asked() {
    // (policy, tool, asked, refused)
    for (policy, tool, asked, refused) in [
        (Policy::Plan, "shell", false, true),
        (Policy::Plan, "edit", false, true),
        (Policy::Plan, "read", false, false),
        (Policy::Review, "shell", true, false),
        (Policy::Review, "run_tests", false, false),
        (Policy::AutoEdit, "shell", true, false),
        (Policy::Auto, "shell", false, false),
    ] {
        let mut d = Driver::new(policy);
        d.ask("go").calls(&[(tool, "x")]);
        let was_asked = d.effects.iter().any(|e| matches!(e, Effect::AskApproval(_)));
        assert_eq!(was_asked, asked, "{policy:?} {tool}");
        let was_refused = d.agent.conversation.iter().any(|m| m.text == "plan only");
        assert_eq!(was_refused, refused, "{policy:?} {tool}");
    }
}

#[test]
fn automatic_policies_write_without_a_review() {
    for policy in [Policy::AutoEdit, Policy::Auto] {
        let mut d = Driver::new(policy);
        d.ask("go").calls(&[("edit", "x")]);
        d.give(Input::Proposed { call: CallId(1), refused: None });
        assert!(d.has(&Effect::Write { calls: vec![CallId(1)], decisions: None }));
    }
}

#[test]
fn an_approval_for_the_session_is_not_asked_again() {
    let mut d = Driver::new(Policy::Review);
    d.ask("go").calls(&[("shell", "a"), ("shell", "a"), ("shell", "b")]);
    d.give(Input::Approved { call: CallId(1), approval: Approval::Session });
    d.done(1, "ok");
    assert!(matches!(d.effects.last(), Some(Effect::RunTool(call)) if call.id == CallId(2)));
    // Another command of the same tool is another question.
    d.done(2, "ok");
    assert!(matches!(d.effects.last(), Some(Effect::AskApproval(call)) if call.id == CallId(3)));
}

#[test]
fn a_denied_call_reaches_the_model_with_its_reason() {
    let mut d = Driver::new(Policy::Review);
    d.ask("go").calls(&[("shell", "rm")]);
    let approval = Approval::Deny { reason: "never".into() };
    d.give(Input::Approved { call: CallId(1), approval });
    assert_eq!(d.tail(1), [(Role::Tool, "never")]);
}

#[test]
fn an_interrupt_leaves_every_call_answered_and_the_agent_idle() {
    // Stopped while generating, proposing, reviewing, asked, running: always one output a call.
    type Step = fn(&mut Driver);
    let stages: [(&str, Step); 5] = [
        ("generating", |d| {
            let call = ToolCall { id: CallId(0), name: "read".into(), args: Default::default() };
            d.model(EngineEvent::Call { call, repairs: Vec::new() });
            d.give(Input::Interrupt).end(FinishReason::Cancelled);
        }),
        ("proposing", |d| {
            d.calls(&[("edit", "x"), ("read", "y")]).give(Input::Interrupt);
        }),
        ("reviewing", |d| {
            d.calls(&[("edit", "x"), ("read", "y")]);
            d.give(Input::Proposed { call: CallId(1), refused: None }).give(Input::Interrupt);
        }),
        ("asked", |d| {
            d.calls(&[("shell", "x"), ("read", "y")]).give(Input::Interrupt);
        }),
        ("running", |d| {
            d.calls(&[("read", "x"), ("read", "y")]).give(Input::Interrupt);
            let output = ToolOutput::stopped("stopped");
            d.give(Input::ToolDone { call: CallId(1), output });
        }),
    ];
    for (name, stage) in stages {
        let mut d = Driver::new(Policy::Review);
        d.ask("go");
        stage(&mut d);
        assert_eq!(d.outcome(), Some(&Outcome::Interrupted), "{name}");
        assert!(d.agent.is_idle(), "{name}");
        let called: usize = d.agent.conversation.iter().map(|m| m.calls.len()).sum();
        let answered = d.agent.conversation.iter().filter(|m| m.role == Role::Tool).count();
        assert_eq!(called, answered, "{name}");
        d.ask("again");
        assert_eq!(d.request().messages.last().map(|m| m.text.as_str()), Some("again"), "{name}");
    }
}

#[test]
fn a_message_typed_during_a_turn_goes_in_at_the_next_step() {
    let mut d = Driver::new(Policy::Review);
    d.ask("go").calls(&[("read", "x")]);
    d.ask("and mind the tests");
    d.done(1, "text");
    let last: Vec<_> = d.tail(2);
    assert_eq!(last, [(Role::Tool, "text"), (Role::User, "and mind the tests")]);
}

#[test]
fn empty_answers_and_loops_are_nudged_and_then_given_up() {
    for (reason, nudge) in
        [(FinishReason::Stop, "say something"), (FinishReason::Loop, "you repeat yourself")]
    {
        let mut d = Driver::new(Policy::Review);
        d.ask("go").end(reason);
        assert_eq!(d.tail(1), [(Role::User, nudge)]);
        d.end(reason);
        assert!(matches!(d.outcome(), Some(Outcome::Failed { .. })), "{reason:?}");
    }
}

#[test]
fn calls_that_cannot_be_run_are_told_and_given_up_when_they_go_on() {
    let problem = crate::protocol::CallProblem {
        code: "unknown_tool:fly".into(),
        message: "There is no tool fly.".into(),
    };
    let mut d = Driver::new(Policy::Review);
    d.ask("go").model(EngineEvent::BadCall(problem.clone())).stop();
    assert_eq!(d.tail(1), [(Role::Tool, "There is no tool fly.")]);
    d.model(EngineEvent::BadCall(problem)).stop();
    assert!(matches!(d.outcome(), Some(Outcome::Failed { .. })));
}

#[test]
fn the_same_call_over_and_over_is_refused_and_then_given_up() {
    let mut d = Driver::new(Policy::Review);
    d.ask("go");
    for n in 1..=2 {
        d.calls(&[("read", "x")]).done(n, "text");
    }
    d.calls(&[("read", "x")]);
    assert_eq!(d.tail(1), [(Role::Tool, "same call")]);
    d.calls(&[("read", "x")]);
    assert!(matches!(d.outcome(), Some(Outcome::Failed { .. })));
}

#[test]
fn a_turn_without_end_is_stopped_at_the_step_limit() {
    let mut d = Driver::new(Policy::Review);
    d.ask("go");
    for n in 1..=10 {
        assert_eq!(d.outcome(), None);
        d.calls(&[("read", &n.to_string())]).done(n, "text");
    }
    assert!(matches!(d.outcome(), Some(Outcome::Failed { .. })));
}

#[test]
fn an_undo_is_told_to_the_model_with_the_next_message() {
    let mut d = Driver::new(Policy::Review);
    d.give(Input::Undo);
    assert_eq!(d.effects, [Effect::Restore]);
    d.give(Input::Undone { note: Some("a.txt was restored".into()) }).ask("next");
    assert_eq!(d.tail(1), [(Role::User, "a.txt was restored\n\nnext")]);
}

#[test]
fn undo_and_new_are_refused_while_a_turn_runs() {
    for input in [Input::Undo, Input::NewSession] {
        let mut d = Driver::new(Policy::Review);
        d.ask("go").give(input);
        assert!(matches!(&d.effects[..], [Effect::Emit(Event::Notice { .. })]));
        assert!(!d.agent.is_idle());
    }
}

#[test]
fn answers_that_come_too_late_are_ignored() {
    for input in [
        Input::Reviewed { decisions: Vec::new() },
        Input::Written { outputs: Vec::new() },
        Input::Approved { call: CallId(9), approval: Approval::Once },
        Input::ToolDone { call: CallId(9), output: ToolOutput::done("", "") },
        Input::Proposed { call: CallId(9), refused: None },
        Input::Engine(EngineEvent::Text("late".into())),
        Input::Interrupt,
    ] {
        let mut d = Driver::new(Policy::Review);
        d.give(input.clone());
        assert_eq!(d.effects, [], "{input:?}");
        d.ask("go").give(input.clone());
        assert!(d.outcome().is_none(), "{input:?}");
    }
}
