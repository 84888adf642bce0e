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

#[test]
fn the_half_open_endpoint_in_the_docs_is_the_one_that_is_tested() {
    let page = fs::read_to_string(repository("docs/drivers/resilience4j.md")).expect("a page");
    let source = fs::read_to_string(repository(
        "parts/spring/src/main/java/parts/spring/HalfOpen.java",
    ))
    .expect("a source");
    let (_, code) = source
        .split_once("package parts.spring;\n\n")
        .expect("its package");
    assert!(
        page.contains(&format!("```java\n{code}```")),
        "docs/drivers/resilience4j.md shows another HalfOpen.java than parts/spring has"
    );
}

/// The drill and the configuration that README.md shows, as somebody copies them.
#[tokio::test]
async fn the_files_of_the_readme_are_checked_without_a_word_of_complaint() {
    let readme = fs::read_to_string(repository("README.md")).expect("README.md");
    let shown = |beginning: &str| {
        let mut blocks = readme
            .split("```yaml\n")
            .skip(1)
            .filter_map(|rest| rest.split_once("```"));
        let block = blocks.find(|(block, _)| block.contains(beginning));
        block.expect("a block of YAML").0.to_owned()
    };
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    fs::write(place("drill.yaml"), shown("drill: coupon-slow")).expect("written");
    fs::write(place("allclear.yaml"), shown("environments:")).expect("written");
    fs::create_dir(place("dashboards")).expect("a folder");
    fs::copy(repository("dashboards/shop.yaml"), place("dashboards/shop.yaml")).expect("copied");
    let (drill, config) = (place("drill.yaml"), place("allclear.yaml"));
    let (code, said, complaints) = says(&["check", &drill, "--config", &config, "--env", "staging"]).await;
    assert_eq!((code, complaints.as_str()), (Some(0), ""), "{said}");
}
