//! Tests of the steps for CI systems (`ci/`) beside a server that answers as GitHub and GitLab do.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

const MARK: &str = "<!-- preemptlab gate -->";

/// The comments on one request, as the server holds them.
#[derive(Default)]
struct Comments {
    all: Vec<Value>,
    is_read_only: bool,
    asked: Vec<String>,
}

impl Comments {
    fn answer(&mut self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.asked.push(format!("{method} {path}"));
        let (place, query) = path.split_once('?').unwrap_or((path, ""));
        let author = |name: &str| json!({ "login": name, "username": name });
        if method != "GET" && self.is_read_only {
            return (403, json!({ "message": "Resource not accessible by integration" }));
        }
        match method {
            "GET" if place == "/user" => (200, author("project_7_bot")),
            "GET" => {
                let page: usize = query.rsplit_once("page=").unwrap().1.parse().unwrap();
                let all = self.all.chunks(100).nth(page - 1).unwrap_or_default();
                (200, json!(all))
            }
            "POST" => {
                let id = 1000 + self.all.len();
                let name =
                    if place.contains("/notes") { "project_7_bot" } else { "github-actions[bot]" };
                let user = author(name);
                self.all
                    .push(json!({ "id": id, "body": body["body"], "user": user, "author": user }));
                (201, json!({ "id": id }))
            }
            "PATCH" | "PUT" => {
                let id: u64 = place.rsplit_once('/').unwrap().1.parse().unwrap();
                let comment = self.all.iter_mut().find(|comment| comment["id"] == id).unwrap();
                comment["body"] = body["body"].clone();
                (200, json!({ "id": id }))
            }
            _ => (405, Value::Null),
        }
    }

    fn bodies(&self) -> Vec<&str> {
        self.all.iter().map(|comment| comment["body"].as_str().unwrap()).collect()
    }
}

/// Serves the comments until the test ends, and returns the server's address.
fn serve(comments: &Arc<Mutex<Comments>>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let comments = Arc::clone(comments);
    thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap(), &comments);
        }
    });
    address
}

fn answer(mut stream: TcpStream, comments: &Mutex<Comments>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let header = |name: &str| {
        let mut named = lines.iter().filter_map(|line| line.split_once(": "));
        named.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
    };
    let length = header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let token = header("authorization").or(header("private-token")).unwrap_or_default();
    let mut words = lines[0].split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let (status, value) = match token.ends_with("s3cret") {
        true => {
            let body = serde_json::from_slice(&body).unwrap_or_default();
            comments.lock().unwrap().answer(method, path, &body)
        }
        false => (401, Value::Null),
    };
    let text = value.to_string();
    write!(
        stream,
        "HTTP/1.1 {status} Said\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )
    .unwrap();
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ci")
}

/// Runs `ci/comment` on a text as a job on a pull request does.
fn on_github(server: &str, text: &str, event: &Value) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let (file, of_event) = (folder.path().join("gate.md"), folder.path().join("event.json"));
    fs::write(&file, text).unwrap();
    fs::write(&of_event, event.to_string()).unwrap();
    Command::new(scripts().join("comment"))
        .arg(&file)
        .env_remove("GITLAB_CI")
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_API_URL", server)
        .env("GITHUB_REPOSITORY", "someone/linux")
        .env("GITHUB_EVENT_PATH", &of_event)
        .env("GITHUB_STEP_SUMMARY", folder.path().join("summary"))
        .env("GITHUB_TOKEN", "s3cret")
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_pull_request_has_one_comment_that_is_rewritten() {
    let comments = Arc::new(Mutex::new(Comments::default()));
    // Those of others come first, and one of them looks like ours.
    for id in 0..150 {
        let body = if id == 149 { format!("{MARK}\nnot ours") } else { format!("comment {id}") };
        let comment = json!({ "id": id, "body": body, "user": { "login": "somebody" } });
        comments.lock().unwrap().all.push(comment);
    }
    let server = serve(&comments);
    let event = json!({ "pull_request": { "number": 12 } });
    for text in ["**worse**\n", "\"no worse\" $HOME `id` \\n\n"] {
        let output = on_github(&server, text, &event);
        assert!(output.status.success(), "{}", said(&output));
        assert_eq!(String::from_utf8_lossy(&output.stdout), text);
        let comments = comments.lock().unwrap();
        assert_eq!(comments.all.len(), 151);
        assert_eq!(comments.bodies()[150], format!("{MARK}\n{text}"));
        assert_eq!(comments.bodies()[149], format!("{MARK}\nnot ours"));
    }
    let asked = &comments.lock().unwrap().asked;
    assert_eq!(asked[1], "GET /repos/someone/linux/issues/12/comments?per_page=100&page=2");
    assert_eq!(asked[5], "PATCH /repos/someone/linux/issues/comments/1150");
}

#[test]
fn a_long_text_is_cut_at_a_line_and_says_so() {
    let comments = Arc::new(Mutex::new(Comments::default()));
    let server = serve(&comments);
    let text = "a line of the table\n".repeat(4000);
    let output = on_github(&server, &text, &json!({ "pull_request": { "number": 1 } }));
    assert!(output.status.success(), "{}", said(&output));
    let comments = comments.lock().unwrap();
    let body = comments.bodies()[0];
    assert!(body.len() < 60_200, "{}", body.len());
    assert!(
        body.ends_with("table\n\n... 80000 bytes in all; the rest is in the output of the job.\n")
    );
}

#[test]
fn a_job_that_may_not_write_warns_and_passes() {
    let comments = Comments { is_read_only: true, ..Comments::default() };
    let comments = Arc::new(Mutex::new(comments));
    let server = serve(&comments);
    let output = on_github(&server, "text\n", &json!({ "pull_request": { "number": 1 } }));
    assert!(output.status.success());
    let said = said(&output);
    assert!(said.contains("no comment on the request: it cannot be written"), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
    // A push is about no request, and nobody is asked.
    comments.lock().unwrap().asked.clear();
    assert!(on_github(&server, "text\n", &json!({ "ref": "refs/heads/main" })).status.success());
    assert!(comments.lock().unwrap().asked.is_empty());
}

#[test]
fn a_merge_request_has_one_note_that_is_rewritten() {
    let comments = Arc::new(Mutex::new(Comments::default()));
    let server = serve(&comments);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gate.md");
    for text in ["first\n", "second\n"] {
        fs::write(&file, text).unwrap();
        let output = Command::new(scripts().join("comment"))
            .arg(&file)
            .env_remove("GITHUB_ACTIONS")
            .env_remove("GITHUB_STEP_SUMMARY")
            .env("GITLAB_CI", "true")
            .env("CI_API_V4_URL", &server)
            .env("CI_PROJECT_ID", "7")
            .env("CI_MERGE_REQUEST_IID", "3")
            .env("PREEMPTLAB_TOKEN", "s3cret")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let comments = comments.lock().unwrap();
        assert_eq!(comments.bodies(), [format!("{MARK}\n{text}")]);
    }
    let asked = comments.lock().unwrap().asked.join("\n");
    assert!(asked.ends_with("PUT /projects/7/merge_requests/3/notes/1000"), "{asked}");
}

/// Runs `ci/gate` with a program in preemptlab's place that writes a page and ends with a code.
fn gate(code: i32, page: bool) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("preemptlab");
    let writes = if page { "echo page > gate.md" } else { "true" };
    fs::write(&program, format!("#!/bin/sh\necho \"$@\"; {writes}; exit {code}\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, mode).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    // The page of an earlier step is not this one's.
    fs::write(folder.path().join("gate.md"), "earlier").unwrap();
    Command::new(fs::canonicalize(scripts().join("gate")).unwrap())
        .args(["a", "b", "--budget", "9"])
        .current_dir(folder.path())
        .env("PATH", path)
        .env_remove("GITHUB_ACTIONS")
        .env_remove("GITLAB_CI")
        .env_remove("GITHUB_STEP_SUMMARY")
        .output()
        .unwrap()
}

#[test]
fn a_gate_passes_where_nothing_is_worse_or_nothing_decided() {
    for (code, page, step) in
        [(0, true, 0), (3, true, 0), (1, true, 1), (2, false, 2), (4, false, 4)]
    {
        let output = gate(code, page);
        assert_eq!(output.status.code(), Some(step), "{code}");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.starts_with("gate a b --budget 9 --format table"), "{said}");
        assert_eq!(said.ends_with("page\n"), page, "{said}");
    }
}

#[test]
fn another_archive_than_the_named_one_is_not_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("release.tar.gz");
    fs::write(&archive, "another").unwrap();
    let tools = folder.path().join("tools");
    let output = Command::new(scripts().join("install"))
        .args([&format!("file://{}", archive.display()), &"0".repeat(64)])
        .arg(&tools)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("has the SHA-256 ae448ac86c4e8e4dec645729708ef41873ae79c6dff84eff73360989487f08e5, not 0000"), "{}", said(&output));
    assert_eq!(fs::read_dir(&tools).unwrap().count(), 0);
}
