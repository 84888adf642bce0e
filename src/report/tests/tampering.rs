//! Bundles that somebody has changed or made up.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use tempfile::TempDir;

use super::{bundle, problems};
use crate::{
    journal::story,
    report::{manifest::copy_hashed, *},
};

#[test]
fn a_changed_byte_in_any_file_is_told_with_the_files_name() {
    let (_temp, path) = bundle();
    let manifest: Manifest = serde_json::from_slice(&fs::read(path.join("manifest.json")).unwrap()).unwrap();
    for file in manifest.files {
        let at = path.join(&file.name);
        let good = fs::read(&at).unwrap();
        let mut bad = good.clone();
        bad[good.len() / 2] ^= 1;
        fs::write(&at, &bad).unwrap();
        assert_eq!(
            problems(&path),
            [format!("{} is not as it was exported", file.name)]
        );
        bad.truncate(good.len() - 1);
        fs::write(&at, &bad).unwrap();
        assert_eq!(
            problems(&path),
            [format!("{} is not as it was exported", file.name)]
        );
        fs::write(&at, good).unwrap();
    }
    assert_eq!(problems(&path), [] as [&str; 0]);
}

#[test]
fn what_is_missing_extra_or_a_link_is_told() {
    let (_temp, path) = bundle();
    fs::remove_file(path.join("drill.yaml")).unwrap();
    fs::write(path.join("more\u{1b}[2J"), "x").unwrap();
    fs::remove_file(path.join("samples.jsonl")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", path.join("samples.jsonl")).unwrap();
    let mut found = problems(&path);
    found.sort();
    assert_eq!(
        found,
        [
            "drill.yaml is missing",
            "more[2J is not in the manifest",
            "samples.jsonl does not belong in a bundle: it is a link or a device",
            "samples.jsonl is missing",
        ]
    );
}

/// An archive with a manifest that lists `files`, and the entries that `fill` adds.
fn archive(
    files: &[(&str, &[u8])],
    fill: impl FnOnce(&mut tar::Builder<GzEncoder<File>>),
) -> (TempDir, PathBuf) {
    let temp = TempDir::new().unwrap();
    let path = temp.path().join("b.tar.gz");
    let files = files.iter().map(|(name, bytes)| {
        let mut bytes = *bytes;
        let (sha256, size) = copy_hashed(&mut bytes, &mut std::io::sink()).unwrap();
        FileEntry {
            name: (*name).to_owned(),
            size,
            sha256,
        }
    });
    let manifest = Manifest {
        allclear: "0.1.0".to_owned(),
        run: Some(story::run()),
        files: files.collect(),
        missing: vec![],
    };
    let mut builder = tar::Builder::new(GzEncoder::new(File::create(&path).unwrap(), Compression::fast()));
    add(
        &mut builder,
        "b/manifest.json",
        &serde_json::to_vec(&manifest).unwrap(),
    );
    fill(&mut builder);
    builder.into_inner().unwrap().finish().unwrap();
    (temp, path)
}

/// Adds an entry of any name, also of one that no honest archiver would write.
fn add(builder: &mut tar::Builder<impl Write>, name: &str, bytes: &[u8]) {
    add_kind(builder, name, bytes, tar::EntryType::Regular);
}

fn add_kind(builder: &mut tar::Builder<impl Write>, name: &str, bytes: &[u8], kind: tar::EntryType) {
    let mut header = tar::Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_size(bytes.len() as u64);
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_cksum();
    builder.append(&header, bytes).unwrap();
}

#[test]
fn a_hostile_archive_writes_nothing_and_every_trick_is_named() {
    let good: &[u8] = b"good";
    let (temp, path) = archive(&[("a", good), ("../x", good), ("/etc/x", good)], |builder| {
        add(builder, "b/a", good);
        add(builder, "b/a", good);
        add(builder, "b/../../escaped", good);
        add(builder, "/etc/escaped", good);
        add(builder, "../escaped", good);
        add_kind(builder, "b/link", b"", tar::EntryType::Symlink);
        add_kind(builder, "b/long", &[b'n'; 5000], tar::EntryType::GNULongName);
    });
    let verified = verify(&path).unwrap();
    assert_eq!(verified.sound, 1);
    insta::assert_snapshot!("hostile", problems(&path).join("\n"));
    OpenBundle::open(&path).unwrap();
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 1);
    assert!(!Path::new("/etc/escaped").exists());
}

#[test]
fn an_entry_larger_than_the_manifest_says_is_read_no_further() {
    let (_temp, path) = archive(&[("a", b"good")], |builder| {
        add(builder, "b/a", &vec![0; 50 << 20])
    });
    assert_eq!(problems(&path), ["a is not as it was exported"]);
}

#[test]
fn what_is_not_a_bundle_is_called_so() {
    let (_temp, cut) = archive(&[("a", b"good")], |builder| add(builder, "b/a", b"good"));
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(verify(&cut), Err(ReportError::NotABundle { .. })));

    let temp = TempDir::new().unwrap();
    assert!(matches!(verify(temp.path()), Err(ReportError::NotABundle { .. })));
    std::os::unix::fs::symlink(&cut, temp.path().join("manifest.json")).unwrap();
    assert!(matches!(verify(temp.path()), Err(ReportError::NotABundle { .. })));
}

proptest! {
    #[test]
    fn bytes_from_anywhere_are_an_error_and_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        let temp = TempDir::new().unwrap();
        let raw = temp.path().join("raw");
        fs::write(&raw, &bytes).unwrap();
        prop_assert!(verify(&raw).is_err());
        let packed = temp.path().join("packed");
        let mut gz = GzEncoder::new(File::create(&packed).unwrap(), Compression::fast());
        gz.write_all(&bytes).unwrap();
        gz.finish().unwrap();
        prop_assert!(verify(&packed).is_err());
    }
}
