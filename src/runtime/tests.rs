//! The real runtime with a scripted engine, a real folder and a front end that decides.

use super::{Parts, Recorder, Runtime};
use crate::agent::{Limits, Setup, Texts};
use crate::assets::Assets;
use crate::engine::scripted::{Script, ScriptStep, ScriptedEngine};
use crate::paths::Paths;
use crate::protocol::{
    Decision, Effort, Event, HunkId, Message, Op, Outcome, Policy, Role, SamplingOverrides,
    ToolOutput, ToolStatus, Verdict,
};
use crate::tools::{Context, Registry, Settings};
use crate::workspace::Workspace;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const BEFORE: &str = "# FIXME\na = 1\nb = 2\nc = 3\nd = 4\n";

struct Rig {
    _dir: tempfile::TempDir,
    root: PathBuf,
    paths: Paths,
    ops: UnboundedSender<Op>,
    events: UnboundedReceiver<Event>,
}

fn call(name: &str, args: &[(&str, &str)]) -> String {
    let mut text = format!("<tool_call>\n<function={name}>\n");
    for (key, value) in args {
        text.push_str(&format!("<parameter={key}>\n{value}\n</parameter>\n"));
    }
    text + "</function>\n</tool_call>"
}

fn edit(old: &str, new: &str) -> String {
    call("edit", &[("path", "a.py"), ("old", old), ("new", new)])
}

impl Rig {
    fn new(policy: Policy, steps: &[String]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("work");
        std::fs::create_dir(&root).unwrap();
        std::fs::write(root.join("a.py"), BEFORE).unwrap();
        let paths = Paths::under(&dir.path().join("home"));
        let workspace = Arc::new(Workspace::open(&root).unwrap());
        let recorder = Recorder::create(&paths, workspace.root());
        let (ops, events) = start(policy, steps, workspace, recorder, Vec::new());
        Self { _dir: dir, root, paths, ops, events }
    }

    fn say(&self, op: Op) {
        self.ops.send(op).unwrap();
    }

    /// Waits for the first event that `wanted` accepts.
    async fn until<T>(&mut self, wanted: impl Fn(Event) -> Option<T>) -> T {
        loop {
            let event = self.events.recv().await.expect("the runtime is there");
            if let Some(found) = wanted(event) {
                return found;
            }
        }
    }

    async fn review(&mut self) -> Vec<HunkId> {
        self.until(|event| match event {
            Event::ReviewRequested { review } => Some(review.hunks().map(|h| h.id).collect()),
            _ => None,
        })
        .await
    }

    fn decide(&self, decisions: &[(HunkId, Verdict, Option<&str>)]) {
        let decisions = decisions
            .iter()
            .map(|(hunk, verdict, comment)| Decision {
                hunk: *hunk,
                verdict: *verdict,
                comment: comment.map(str::to_owned),
            })
            .collect();
        self.say(Op::Review { decisions });
    }

    async fn output(&mut self) -> ToolOutput {
        self.until(|event| match event {
            Event::ToolFinished { output, .. } => Some(output),
            _ => None,
        })
        .await
    }

    async fn end(&mut self) -> Outcome {
        self.until(|event| match event {
            Event::TurnFinished { outcome, .. } => Some(outcome),
            _ => None,
        })
        .await
    }

    fn disk(&self) -> String {
        std::fs::read_to_string(self.root.join("a.py")).unwrap()
    }
}

fn start(
    policy: Policy,
    steps: &[String],
    workspace: Arc<Workspace>,
    recorder: Recorder,
    history: Vec<Message>,
) -> (UnboundedSender<Op>, UnboundedReceiver<Event>) {
    let steps = steps
        .iter()
        .map(|text| ScriptStep { text: text.clone(), chunk: 7, ..ScriptStep::default() })
        .collect();
    let engine = ScriptedEngine::new(Script { context: 32_768, steps, ..Script::default() });
    let loading = engine.loading();
    let (registry, warnings) = Registry::load(&Assets::built_in());
    assert_eq!(warnings, Vec::<String>::new());
    let setup = Setup {
        system: "system".into(),
        tools: registry.specs().to_vec(),
        policy,
        effort: Effort::Xhigh,
        sampling: SamplingOverrides::default(),
        limits: Limits::default(),
        verify_allowed: true,
        texts: Texts::default(),
        history,
    };
    let context = Arc::new(Context::new(workspace.clone(), Settings::default()));
    let parts = Parts { engine: Box::new(engine), loading, setup, workspace, context, recorder };
    let (ops, ops_out) = unbounded_channel();
    let (events_in, events) = unbounded_channel();
    tokio::spawn(Runtime::new(parts, events_in).run(ops_out));
    (ops, events)
}

fn ask() -> Op {
    Op::UserTurn { text: "go".into() }
}

#[tokio::test]
async fn each_edit_of_a_step_hears_what_became_of_its_own_hunks() {
    let step = format!("{}\n{}", edit("b = 2", "b = 20"), edit("# FIXME", "# checked"));
    let mut rig = Rig::new(Policy::Review, &[step, "Done.".into()]);
    rig.say(ask());
    let hunks = rig.review().await;
    assert_eq!((hunks.len(), rig.disk().as_str()), (2, BEFORE));
    // The hunks stand in file order: the comment first, though it was edited second.
    rig.decide(&[
        (hunks[0], Verdict::Reject, Some("keep the mark")),
        (hunks[1], Verdict::Accept, None),
    ]);
    let first = rig.output().await;
    assert_eq!((first.status, first.text.as_str()), (ToolStatus::Done, "edited a.py"));
    let second = rig.output().await;
    assert_eq!(second.status, ToolStatus::Refused);
    assert_eq!(second.text, "refused by the user; a.py is unchanged\nThe user says: keep the mark");
    assert_eq!(rig.end().await, Outcome::Done);
    assert_eq!(rig.disk(), BEFORE.replace("b = 2", "b = 20"));
}

#[tokio::test]
async fn an_edit_taken_in_part_hears_the_part_that_was_refused() {
    let old = "a = 1\nb = 2\nc = 3\nd = 4";
    let step = edit(old, "a = 10\nb = 2\nc = 3\nd = 40");
    let mut rig = Rig::new(Policy::Review, &[step, "Done.".into()]);
    rig.say(ask());
    let hunks = rig.review().await;
    rig.decide(&[(hunks[0], Verdict::Accept, None), (hunks[1], Verdict::Reject, None)]);
    let output = rig.output().await;
    assert!(output.text.starts_with("edited a.py in part"), "{}", output.text);
    assert!(output.text.contains("+d = 40") && !output.text.contains("+a = 10"));
    rig.end().await;
    assert_eq!(rig.disk(), BEFORE.replace("a = 1", "a = 10"));
}

#[tokio::test]
async fn hunks_without_a_decision_are_not_written() {
    let mut rig = Rig::new(Policy::Review, &[edit("b = 2", "b = 20"), "Done.".into()]);
    rig.say(ask());
    rig.review().await;
    rig.decide(&[]);
    assert_eq!(rig.output().await.status, ToolStatus::Refused);
    rig.end().await;
    assert_eq!(rig.disk(), BEFORE);
}

#[tokio::test]
async fn a_file_that_moved_elsewhere_meanwhile_is_merged() {
    let mut rig = Rig::new(Policy::Review, &[edit("b = 2", "b = 20"), "Done.".into()]);
    rig.say(ask());
    let hunks = rig.review().await;
    std::fs::write(rig.root.join("a.py"), BEFORE.replace("d = 4", "d = 44")).unwrap();
    rig.decide(&[(hunks[0], Verdict::Accept, None)]);
    rig.end().await;
    assert_eq!(rig.disk(), BEFORE.replace("b = 2", "b = 20").replace("d = 4", "d = 44"));
}

#[tokio::test]
async fn a_file_that_moved_in_the_same_place_is_left_alone() {
    let mut rig = Rig::new(Policy::Review, &[edit("b = 2", "b = 20"), "Done.".into()]);
    rig.say(ask());
    let hunks = rig.review().await;
    let theirs = BEFORE.replace("b = 2", "b = 7");
    std::fs::write(rig.root.join("a.py"), &theirs).unwrap();
    rig.decide(&[(hunks[0], Verdict::Accept, None)]);
    assert_eq!(rig.output().await.status, ToolStatus::Failed);
    rig.end().await;
    assert_eq!(rig.disk(), theirs);
}

#[tokio::test]
async fn undo_brings_back_what_the_turn_changed() {
    let mut rig = Rig::new(Policy::AutoEdit, &[edit("b = 2", "b = 20"), "Done.".into()]);
    rig.say(ask());
    rig.end().await;
    assert_ne!(rig.disk(), BEFORE);
    rig.say(Op::Undo);
    rig.until(|event| matches!(event, Event::Notice { .. }).then_some(())).await;
    assert_eq!(rig.disk(), BEFORE);
}

#[tokio::test]
async fn a_session_can_be_gone_on_with() {
    let mut rig = Rig::new(Policy::AutoEdit, &[edit("b = 2", "b = 20"), "Done.".into()]);
    rig.say(ask());
    rig.end().await;
    rig.say(Op::Shutdown);
    rig.until(|event| matches!(event, Event::Closed).then_some(())).await;
    let workspace = Arc::new(Workspace::open(&rig.root).unwrap());
    let (recorder, messages, warnings) =
        Recorder::resume(&rig.paths, workspace.root(), None).unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool, Role::Assistant]);
    // The resumed session goes on, and can still undo what the earlier one did.
    (rig.ops, rig.events) =
        start(Policy::AutoEdit, &["More.".into()], workspace, recorder, messages);
    rig.say(ask());
    assert_eq!(rig.end().await, Outcome::Done);
    rig.say(Op::Undo);
    rig.until(|event| matches!(event, Event::Notice { .. }).then_some(())).await;
    assert_eq!(rig.disk(), BEFORE);
}

#[tokio::test]
async fn an_interrupt_stops_a_command_and_all_it_started() {
    let command = "sh -c 'sleep 600 & echo $! > pid; wait'";
    let step = call("shell", &[("command", command)]);
    let mut rig = Rig::new(Policy::Auto, &[step, "Done.".into()]);
    rig.say(ask());
    let file = rig.root.join("pid");
    let pid = loop {
        match std::fs::read_to_string(&file) {
            Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
            _ => tokio::time::sleep(std::time::Duration::from_millis(5)).await,
        }
    };
    rig.say(Op::Interrupt);
    assert_eq!(rig.end().await, Outcome::Interrupted);
    let alive = std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.contains(") Z "));
    assert!(!alive, "process {pid} is still there");
}

#[tokio::test]
async fn an_interrupt_in_a_review_writes_nothing() {
    let mut rig = Rig::new(Policy::Review, &[edit("b = 2", "b = 20"), "Done.".into()]);
    rig.say(ask());
    rig.review().await;
    rig.say(Op::Interrupt);
    assert_eq!(rig.end().await, Outcome::Interrupted);
    assert_eq!(rig.disk(), BEFORE);
}
