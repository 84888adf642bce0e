//! The files that come with allclear: the schemas that they name are there, and they are clean.

mod support;

use std::{fs, process::Stdio, time::Duration};

use support::{plain, repository};
use tokio::time::timeout;

const ANSWERS: Duration = Duration::from_secs(60);

async fn says(args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = plain();
    command.args(args).stderr(Stdio::piped());
    let output = timeout(ANSWERS, command.output())
        .await
        .expect("it answers in time")
        .expect("the binary starts");
    (
        output.status.code(),
        String::from_utf8(output.stdout).expect("text"),
        String::from_utf8(output.stderr).expect("text"),
    )
}

/// The YAML files of a folder of the repository.
fn files(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(repository(folder)).expect("a folder of the repository");
    let paths = entries.map(|entry| format!("{folder}/{}", entry.expect("an entry").file_name().display()));
    let mut files: Vec<String> = paths.filter(|path| path.ends_with(".yaml")).collect();
    files.sort();
    files
}

#[tokio::test]
async fn the_committed_schemas_are_those_that_allclear_prints() {
    for kind in ["drill", "dashboard", "config"] {
        let path = format!("schema/{kind}.json");
        let committed = fs::read_to_string(repository(&path)).expect("a committed schema");
        let (code, printed, _) = says(&["schema", kind]).await;
        assert_eq!(code, Some(0));
        assert!(
            committed == printed,
            "{path} is old: allclear schema {kind} > {path}"
        );
    }
}

#[tokio::test]
async fn every_shipped_drill_is_checked_without_a_word_of_complaint() {
    let drills = files("expectations");
    assert!(drills.len() >= 7, "{drills:?}");
    let args: Vec<&str> = ["check"]
        .into_iter()
        .chain(drills.iter().map(String::as_str))
        .collect();
    let (code, said, complaints) = says(&args).await;
    assert_eq!((code, complaints.as_str()), (Some(0), ""));
    assert_eq!(said.lines().count(), drills.len(), "{said}");
}

#[tokio::test]
async fn every_drill_of_the_repository_comes_with_the_binary() {
    for path in files("expectations") {
        let name = path.trim_start_matches("expectations/").trim_end_matches(".yaml");
        // From a folder without any file of ours.
        let mut command = plain();
        command.args(["check", name]).current_dir(std::env::temp_dir());
        let output = timeout(ANSWERS, command.output())
            .await
            .expect("it answers in time")
            .expect("the binary starts");
        assert!(output.status.success(), "{name} is not in the binary");
    }
}

#[test]
fn every_shipped_file_names_its_schema_first() {
    for (folder, kind) in [("expectations", "drill"), ("dashboards", "dashboard")] {
        for path in files(folder) {
            let text = fs::read_to_string(repository(&path)).expect("a shipped file");
            let line = format!("# yaml-language-server: $schema=../schema/{kind}.json\n");
            assert!(text.starts_with(&line), "{path}");
        }
    }
}

/// A page of docs/drivers, and the class of a part that it shows.
fn shows(page: &str, folder: &str, class: &str) {
    let shown = fs::read_to_string(repository(format!("docs/drivers/{page}.md"))).expect("a page");
    let path = format!("parts/{folder}/src/main/java/parts/{folder}/{class}.java");
    let source = fs::read_to_string(repository(&path)).expect("a source");
    let (_, code) = source
        .split_once(&format!("package parts.{folder};\n\n"))
        .expect("its package");
    assert!(
        shown.contains(&format!("```java\n{code}```")),
        "docs/drivers/{page}.md shows another class than {path}"
    );
}

#[test]
fn the_half_open_endpoint_in_the_docs_is_the_one_that_is_tested() {
    shows("resilience4j", "spring", "HalfOpen");
}

#[test]
fn the_injection_point_in_the_docs_is_the_one_that_is_tested() {
    shows("injection-point", "shop", "InjectionPoint");
}

#[test]
fn the_retry_switch_in_the_docs_is_the_one_that_is_tested() {
    shows("retry-switch", "shop", "RetrySwitch");
}

/// The blocks of YAML in README.md.
fn blocks(readme: &str) -> Vec<&str> {
    let rest = readme.split("```yaml\n").skip(1);
    rest.filter_map(|rest| rest.split_once("```"))
        .map(|(block, _)| block)
        .collect()
}

/// The drill that README.md shows first, as somebody copies it.
#[tokio::test]
async fn the_drill_of_the_readme_is_checked_without_a_word_of_complaint() {
    let readme = fs::read_to_string(repository("README.md")).expect("README.md");
    let shown = blocks(&readme)
        .into_iter()
        .find(|block| block.starts_with("drill: coupon-slow"));
    let folder = tempfile::tempdir().expect("a folder");
    let drill = folder.path().join("drill.yaml").to_string_lossy().into_owned();
    fs::write(&drill, shown.expect("a drill")).expect("written");
    let (code, said, complaints) = says(&["check", &drill, "--env", "range"]).await;
    assert_eq!((code, complaints.as_str()), (Some(0), ""), "{said}");
}

/// The chapter "Against your systems" runs in `parts/shop`, and shows what stands in its files.
#[tokio::test]
async fn the_shop_of_the_readme_is_checked_and_is_what_the_readme_shows() {
    let mut command = plain();
    command
        .args(["check", "coupon-slow"])
        .current_dir(repository("parts/shop"))
        .stderr(Stdio::piped());
    let output = timeout(ANSWERS, command.output())
        .await
        .expect("it answers in time")
        .expect("the binary starts");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), complaints.as_ref()), (Some(0), ""));

    let without_comments = |line: &str| line.split(" #").next().unwrap_or_default().trim_end().to_owned();
    let lines = |text: &str| text.lines().map(without_comments).collect::<Vec<_>>().join("\n");
    let readme = fs::read_to_string(repository("README.md")).expect("README.md");
    let (_, chapter) = readme.split_once("## Against your systems").expect("its chapter");
    let (chapter, _) = chapter.split_once("\n## ").expect("its end");
    let files = [("allclear", "config"), ("expectations/coupon-slow", "drill")].map(|(file, kind)| {
        let text = fs::read_to_string(repository(format!("parts/shop/{file}.yaml"))).expect("a file");
        let first = text.lines().next().unwrap_or_default();
        assert!(first.ends_with(&format!("../../schema/{kind}.json")), "{first}");
        lines(&text)
    });
    let shown = blocks(chapter);
    assert_eq!(shown.len(), files.len());
    for (block, file) in shown.into_iter().zip(files) {
        assert!(file.contains(&lines(block)), "not in its file:\n{block}");
    }
}

/// What somebody looks for who decides whether a driver may be let at a system.
const SECTIONS: [&str; 4] = [
    "What it reads",
    "What it changes",
    "What it needs",
    "What it cannot do",
];

#[test]
fn the_page_of_every_driver_says_what_it_reads_changes_needs_and_cannot_do() {
    let table = fs::read_to_string(repository("docs/drivers.md")).expect("the table of drivers");
    let entries = fs::read_dir(repository("docs/drivers")).expect("the drivers' pages");
    let names = entries.map(|entry| entry.expect("an entry").file_name().display().to_string());
    let pages: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    assert!(pages.len() >= 11, "{pages:?}");
    for page in pages {
        let text = fs::read_to_string(repository(format!("docs/drivers/{page}"))).expect("a page");
        for section in SECTIONS {
            // `What it needs: the exact ACLs` is one as well.
            let found = text
                .split("\n## ")
                .skip(1)
                .filter_map(|part| part.strip_prefix(section));
            let said = found.filter(|rest| rest.starts_with(['\n', ',', ':']));
            let lines = said
                .flat_map(|rest| rest.lines().skip(1))
                .filter(|line| !line.is_empty());
            assert!(
                lines.count() > 0,
                "docs/drivers/{page} has nothing under `## {section}`"
            );
        }
        assert!(
            table.contains(&format!("](drivers/{page})")),
            "docs/drivers.md does not name {page}"
        );
    }
}
