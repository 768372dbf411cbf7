//! All tools, in the one order that every prompt has them in.

use super::spec::{ToolDef, parse};
use crate::assets::{AssetKind, Assets, Origin};
use crate::protocol::{ToolKind, ToolSpec};

/// The tools of a session. Fixed once loaded: a changed list would make the model read its whole
/// prompt again.
#[derive(Clone, Debug, PartialEq)]
pub struct Registry {
    tools: Vec<ToolDef>,
    specs: Vec<ToolSpec>,
}

impl Registry {
    /// Reads all tool files. Bad files and forbidden changes are left out with a warning.
    pub fn load(assets: &Assets) -> (Self, Vec<String>) {
        let built_in = Assets::built_in();
        let own: Vec<ToolDef> =
            built_in.list(AssetKind::Tools).filter_map(|a| parse(&a.text).ok()).collect();
        let mut warnings = Vec::new();
        let mut tools: Vec<ToolDef> = Vec::new();
        for file in assets.list(AssetKind::Tools) {
            let checked = parse(&file.text).and_then(|tool| check(tool, file.origin, &own));
            match checked {
                Ok(tool) if tools.iter().any(|known| known.spec.name == tool.spec.name) => {
                    let name = &tool.spec.name;
                    warnings.push(format!("tools/{}: there is a tool {name} already", file.name));
                }
                Ok(tool) => tools.push(tool),
                Err(reason) => {
                    warnings.push(format!("tools/{} is left out: {reason}", file.name));
                    // A built-in tool must not vanish behind a broken replacement.
                    let stem = file.name.trim_end_matches(".md");
                    tools.extend(own.iter().find(|tool| tool.spec.name == stem).cloned());
                }
            }
        }
        tools.sort_by(|a, b| (a.order, &a.spec.name).cmp(&(b.order, &b.spec.name)));
        let specs = tools.iter().map(|tool| tool.spec.clone()).collect();
        (Self { tools, specs }, warnings)
    }

    /// What the model is offered, in order.
    pub fn specs(&self) -> &[ToolSpec] {
        &self.specs
    }

    /// One tool by name.
    pub fn get(&self, name: &str) -> Option<&ToolDef> {
        self.tools.iter().find(|tool| tool.spec.name == name)
    }

    /// What a tool can do; decides the approval it needs.
    pub fn kind(&self, name: &str) -> Option<ToolKind> {
        self.get(name).map(|tool| tool.spec.kind)
    }

    /// All tools, in order.
    pub fn iter(&self) -> impl Iterator<Item = &ToolDef> {
        self.tools.iter()
    }
}

/// A file of the user's may reword a built-in tool, but not make it something else; a new tool needs
/// a command and asks like any other command.
fn check(tool: ToolDef, origin: Origin, own: &[ToolDef]) -> Result<ToolDef, String> {
    if origin == Origin::BuiltIn {
        return Ok(tool);
    }
    match own.iter().find(|known| known.spec.name == tool.spec.name) {
        Some(known) if known.spec.kind != tool.spec.kind || tool.command.is_some() => {
            Err("a built-in tool cannot change its kind or get a command".to_owned())
        }
        Some(_) => Ok(tool),
        None if tool.command.is_none() => Err("a new tool needs a command".to_owned()),
        None if tool.spec.kind != ToolKind::Execute => {
            Err("a tool with a command has the kind execute".to_owned())
        }
        None => Ok(tool),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_tools_come_in_a_fixed_order() {
        let (registry, warnings) = Registry::load(&Assets::built_in());
        assert_eq!(warnings, Vec::<String>::new());
        let names: Vec<&str> = registry.iter().map(|tool| tool.spec.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "read",
                "search",
                "find",
                "edit",
                "write",
                "shell",
                "run_tests",
                "lint",
                "typecheck",
                "git"
            ]
        );
        assert_eq!(registry.kind("edit"), Some(ToolKind::Edit));
        assert_eq!(registry.kind("nothing"), None);
    }

    #[test]
    fn the_list_is_short() {
        let (registry, _) = Registry::load(&Assets::built_in());
        let text = serde_json::to_string(registry.specs()).unwrap();
        assert!(text.len() < 7000, "{} bytes", text.len());
    }

    #[test]
    fn users_can_add_and_reword_but_not_weaken() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("tools");
        std::fs::create_dir(&folder).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write(
            "make.md",
            "+++\nname = \"make\"\nkind = \"execute\"\ncommand = \"make\"\n+++\nMake.",
        );
        write("sly.md", "+++\nname = \"sly\"\nkind = \"read\"\ncommand = \"rm x\"\n+++\nSly.");
        write("shell.md", "+++\nname = \"shell\"\nkind = \"read\"\n+++\nHarmless.");
        write("read.md", "+++\nname = \"read\"\nkind = \"read\"\norder = 1\n+++\nReworded.");
        write("git.md", "broken");
        let (registry, warnings) = Registry::load(&Assets::load(Some(temp.path())).0);
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        assert_eq!(registry.kind("make"), Some(ToolKind::Execute));
        assert_eq!(registry.kind("shell"), Some(ToolKind::Execute));
        assert_eq!(registry.kind("sly"), None);
        assert_eq!(registry.get("read").unwrap().spec.description, "Reworded.");
        assert_eq!(registry.kind("git"), Some(ToolKind::Read));
    }
}
