//! Downloads by HTTP, HTTPS and from folders, for machines without apt. Nobody trusts them: every file has a
//! hash or a signature that somebody else checks.

mod proxy;

use std::{
    cmp::Ordering,
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use preemptlab_model::Digest;
use ureq::{Agent, Proxy, http::StatusCode, unversioned::resolver::DefaultResolver};

use self::proxy::ByProxy;
use crate::{Named, StoreError, Trouble, store::hash::sha256};

/// The time that each step of a download may take, and that a body of any size gets.
const PATIENCE: Duration = Duration::from_secs(30);

/// The least rate at which a mirror must deliver, in bytes per second.
const RATE_MIN: u64 = 10_000;

/// The most redirections of one download.
const REDIRECTS_MAX: u32 = 5;

/// Bytes that are read at a time.
const CHUNK_BYTES: usize = 1 << 16;

/// Proxies for downloads, as `http_proxy`, `https_proxy` and `no_proxy` name them.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    /// Proxy of addresses that begin with `http:`.
    pub http: Option<String>,
    /// Proxy of addresses that begin with `https:`.
    pub https: Option<String>,
    /// Hosts that are reached without a proxy, with commas between them.
    pub none_for: String,
}

/// Downloads files.
#[derive(Debug)]
pub(crate) struct Client {
    http: Agent,
    https: Agent,
    patience: Duration,
}

/// A body and what it is part of.
struct Body {
    reader: Box<dyn Read>,
    /// Whether the body begins where it was asked to.
    is_continued: bool,
    /// Whether its length was announced, so that its end is the file's, and not that of the connection.
    has_length: bool,
}

impl Client {
    /// Prepares downloads through these proxies.
    pub(crate) fn new(proxies: &Proxies) -> Result<Self, Trouble> {
        Self::with_patience(proxies, PATIENCE)
    }

    /// Prepares downloads whose steps may take so long.
    pub(crate) fn with_patience(proxies: &Proxies, patience: Duration) -> Result<Self, Trouble> {
        let agent = |proxy: &Option<String>| -> Result<Agent, Trouble> {
            let proxy = match proxy.as_deref().map(str::trim).filter(|proxy| !proxy.is_empty()) {
                Some(proxy) => Some(with_exceptions(proxy, &proxies.none_for)?),
                None => None,
            };
            let config = Agent::config_builder()
                .proxy(proxy)
                .http_status_as_error(false)
                .max_redirects(REDIRECTS_MAX)
                .timeout_resolve(Some(patience))
                .timeout_connect(Some(patience))
                .timeout_recv_response(Some(patience))
                .timeout_per_read(Some(patience))
                .user_agent(concat!("preemptlab/", env!("CARGO_PKG_VERSION")))
                .build();
            Ok(Agent::with_parts(config, ByProxy::default(), DefaultResolver::default()))
        };
        Ok(Self { http: agent(&proxies.http)?, https: agent(&proxies.https)?, patience })
    }

    /// Downloads a small file into memory. A larger one than allowed is refused.
    pub(crate) fn get(&self, url: &str, bytes_max: u64) -> Result<Vec<u8>, Trouble> {
        let body = self.open(url, 0, bytes_max, false)?;
        let mut bytes = Vec::new();
        body.reader.take(bytes_max + 1).read_to_end(&mut bytes).map_err(|error| broken(&error))?;
        match bytes.len() as u64 > bytes_max {
            true => Err(Trouble::Corrupted(format!("it is larger than {bytes_max} bytes"))),
            false => Ok(bytes),
        }
    }

    /// Downloads a file to a path, with the content that somebody trusted names. A part that an earlier
    /// download left there is continued, and a part that this one leaves stays there.
    pub(crate) fn save(
        &self,
        url: &str,
        path: &Path,
        named: Named,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Result<(), Trouble> {
        let mut error = None;
        // The second download is without what caches hold: proxies and mirrors in flux deliver other files.
        for is_again in [false, true] {
            match self.attempt(url, path, named, is_again, on_bytes) {
                Err(trouble @ Trouble::Corrupted(_)) => error = Some(trouble),
                done => return done,
            }
        }
        error.map_or(Ok(()), Err)
    }

    fn attempt(
        &self,
        url: &str,
        path: &Path,
        named: Named,
        is_again: bool,
        on_bytes: &mut dyn FnMut(u64),
    ) -> Result<(), Trouble> {
        let disk = |error: io::Error| of_disk(path, &error);
        let mut options = OpenOptions::new();
        let file = options.create(true).read(true).write(true).truncate(false).open(path);
        let mut file = file.map_err(disk)?;
        let mut have = file.seek(SeekFrom::End(0)).map_err(disk)?;
        let mut is_all = false;
        if have < named.bytes {
            let mut body = self.open(url, have, named.bytes - have, is_again)?;
            if !body.is_continued {
                have = 0;
                restart(&mut file).map_err(disk)?;
            }
            let mut chunk = vec![0; CHUNK_BYTES];
            loop {
                let read = match body.reader.read(&mut chunk) {
                    Ok(0) => {
                        is_all = body.has_length;
                        break;
                    }
                    Ok(read) => read,
                    Err(error) => return Err(broken(&error)),
                };
                have += read as u64;
                if have > named.bytes {
                    break;
                }
                file.write_all(&chunk[..read]).map_err(disk)?;
                on_bytes(have);
            }
        }
        if have < named.bytes && !is_all {
            let text = format!("the connection ended after {have} of {} bytes", named.bytes);
            return Err(Trouble::Unreachable(text));
        }
        let wrong = match have.cmp(&named.bytes) {
            Ordering::Less => format!("it has {have} bytes, not {}", named.bytes),
            Ordering::Greater => format!("it is larger than {} bytes", named.bytes),
            Ordering::Equal => {
                let found = sha256(path).map_err(disk)?;
                if found == named.sha256 {
                    return Ok(());
                }
                let (found, wanted) = (found.short(), named.sha256.short());
                format!("its SHA-256 starts with {found}, not {wanted}")
            }
        };
        fs::remove_file(path).map_err(disk)?;
        Err(Trouble::Corrupted(wrong))
    }

    /// Opens an address, from a byte on. The body may take as long as its bytes need at the least rate.
    fn open(&self, url: &str, from: u64, bytes: u64, is_again: bool) -> Result<Body, Trouble> {
        let scheme = url.split(':').next().unwrap_or_default();
        let agent = match scheme {
            "file" => return of_folder(url, from),
            "http" => &self.http,
            "https" => &self.https,
            _ => return Err(Trouble::Other(format!("`{scheme}:` cannot be read without apt"))),
        };
        let whole = self.patience + Duration::from_secs(bytes / RATE_MIN);
        let mut request = agent.get(url).config().timeout_recv_body(Some(whole)).build();
        if from > 0 {
            request = request.header("Range", format!("bytes={from}-"));
        }
        if is_again {
            request = request.header("Cache-Control", "no-cache");
        }
        let response = request.call().map_err(|error| unreachable(&error))?;
        let status = response.status();
        let begins = format!("bytes {from}-");
        let range = response.headers().get("Content-Range").and_then(|range| range.to_str().ok());
        let is_continued = range.is_some_and(|range| range.starts_with(&begins));
        match status {
            StatusCode::OK => {}
            StatusCode::PARTIAL_CONTENT if is_continued => {}
            StatusCode::RANGE_NOT_SATISFIABLE if from > 0 => {
                return self.open(url, 0, bytes + from, is_again);
            }
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::GONE => {
                return Err(Trouble::Missing);
            }
            other => return Err(Trouble::Unreachable(format!("it answers {other}"))),
        }
        let is_continued = status == StatusCode::PARTIAL_CONTENT;
        let has_length = response.headers().contains_key("Content-Length");
        let reader = Box::new(response.into_body().into_reader());
        Ok(Body { reader, is_continued, has_length })
    }
}

/// Brings a file into the store: in a folder beside it until it is whole, so that the next download continues
/// it. `download` writes to the path, and checks the hash.
pub(crate) fn keep(
    folder: &Path,
    target: &Path,
    sha256: Digest,
    download: impl FnOnce(&Path) -> Result<(), Trouble>,
) -> Result<Result<(), Trouble>, StoreError> {
    fs::create_dir_all(folder).map_err(StoreError::at(folder))?;
    let part = folder.join(sha256.to_string());
    if let Err(trouble) = download(&part) {
        return Ok(Err(trouble));
    }
    preemptlab_files::open(&part)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(&part, target))
        .map_err(StoreError::at(target))?;
    Ok(Ok(()))
}

fn restart(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()
}

/// Opens a file of an archive in a folder, from a byte on.
fn of_folder(url: &str, from: u64) -> Result<Body, Trouble> {
    let path = local(url);
    let opened = preemptlab_files::open(&path).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        Ok(file)
    });
    match opened {
        Ok(file) => Ok(Body { reader: Box::new(file), is_continued: true, has_length: true }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Trouble::Missing),
        Err(error) => Err(Trouble::Unreachable(format!("{}: {error}", path.display()))),
    }
}

/// Returns the path in an address `file:/PATH` or `file:///PATH`, whose escapes `%xx` are bytes.
fn local(url: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;

    let path = url.strip_prefix("file:").unwrap_or(url);
    let path = path.strip_prefix("//").unwrap_or(path).as_bytes();
    let mut bytes = Vec::with_capacity(path.len());
    let mut at = 0;
    while let Some(byte) = path.get(at) {
        let escaped = path.get(at + 1..at + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(escaped) if *byte == b'%' => {
                bytes.push(escaped);
                at += 3;
            }
            _ => {
                bytes.push(*byte);
                at += 1;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// Returns a proxy that is passed by for the hosts of `no_proxy`: `host`, `.domain`, `*`.
fn with_exceptions(proxy: &str, none_for: &str) -> Result<Proxy, Trouble> {
    let wrong = |_| Trouble::Other(format!("`{proxy}` is no proxy's address, as http://HOST:PORT"));
    let given = Proxy::new(proxy).map_err(wrong)?;
    let mut builder = Proxy::builder(given.protocol()).host(given.host()).port(given.port());
    if let Some(user) = given.username() {
        builder = builder.username(user);
    }
    if let Some(password) = given.password() {
        builder = builder.password(password);
    }
    for host in none_for.split(',').map(str::trim).filter(|host| !host.is_empty()) {
        builder = builder.no_proxy(host);
        // `domain` means its hosts too, as curl and apt read it.
        if !host.starts_with(['.', '*']) {
            builder = builder.no_proxy(&format!(".{host}"));
        }
    }
    builder.build().map_err(wrong)
}

/// Returns the cause for which an address cannot be opened.
fn unreachable(error: &ureq::Error) -> Trouble {
    match error {
        ureq::Error::Io(error) => Trouble::Unreachable(error.to_string()),
        ureq::Error::Timeout(_) => Trouble::Unreachable("it does not answer in time".to_owned()),
        ureq::Error::ConnectProxyFailed(said) => {
            Trouble::Unreachable(format!("the proxy allows no `CONNECT` to it: {said}"))
        }
        other => Trouble::Unreachable(other.to_string()),
    }
}

/// Returns the cause for which a body ended too early.
fn broken(error: &io::Error) -> Trouble {
    let is_slow = error
        .get_ref()
        .and_then(|error| error.downcast_ref::<ureq::Error>())
        .is_some_and(|error| matches!(error, ureq::Error::Timeout(_)))
        || error.kind() == io::ErrorKind::TimedOut;
    Trouble::Unreachable(match is_slow {
        true => format!("it delivers less than {RATE_MIN} bytes per second"),
        false => format!("the connection broke: {error}"),
    })
}

/// Returns the cause for which a file cannot be written.
fn of_disk(path: &Path, error: &io::Error) -> Trouble {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Trouble::DiskFull,
        _ => Trouble::Other(format!("{}: {error}", path.display())),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::{
        io::{BufRead, BufReader},
        net::{TcpListener, TcpStream},
        sync::{Arc, Mutex},
        thread,
    };

    use preemptlab_model::Digest;

    use super::*;

    /// An answer to a request for a path: the status line, the header and the body, in the order in which
    /// they are written; and how it goes on.
    pub(crate) enum Answer {
        /// A whole file, of which a part may be asked for.
        File(Vec<u8>),
        /// A file whose connection ends after so many bytes.
        Cut(Vec<u8>, usize),
        /// A header that announces bytes which come one at a time, for ever.
        Slow,
        /// A status without a body.
        Status(&'static str),
    }

    /// A web server on this machine. Returns its address and the requests that it got.
    pub(crate) fn serve(
        answer: impl Fn(&str) -> Answer + Send + Sync + 'static,
    ) -> (String, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, answer) = (requests.clone(), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, answer) = (seen.clone(), answer.clone());
                thread::spawn(move || talk(stream, &seen, &*answer));
            }
        });
        (address, requests)
    }

    fn talk(stream: TcpStream, seen: &Mutex<Vec<String>>, answer: &dyn Fn(&str) -> Answer) {
        let mut out = stream.try_clone().unwrap();
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let Some(first) = lines.next() else { return };
        let header: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
        let range = header
            .iter()
            .find_map(|line| line.to_lowercase().strip_prefix("range: bytes=").map(str::to_owned));
        let mut words = first.split(' ');
        let (method, path) = (words.next(), words.next().unwrap_or_default().to_owned());
        if method != Some("GET") {
            let refused = b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n";
            let _ = out.write_all(refused);
            return;
        }
        let credentials = header.iter().find_map(|line| line.strip_prefix("Proxy-Authorization: "));
        let from: usize = range
            .as_deref()
            .and_then(|range| range.trim_end_matches('-').parse().ok())
            .unwrap_or(0);
        let parts = [Some(&*path), range.as_deref(), credentials];
        seen.lock().unwrap().push(parts.into_iter().flatten().collect::<Vec<_>>().join(" "));
        let _ = match answer(&path) {
            Answer::File(bytes) if from > 0 && from < bytes.len() => {
                let all = bytes.len();
                let head = format!(
                    "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {from}-{}/{all}\r\n\
                     Content-Length: {}\r\nConnection: close\r\n\r\n",
                    all - 1,
                    all - from
                );
                out.write_all(head.as_bytes()).and_then(|()| out.write_all(&bytes[from..]))
            }
            Answer::File(bytes) => {
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                    bytes.len()
                );
                out.write_all(head.as_bytes()).and_then(|()| out.write_all(&bytes))
            }
            Answer::Cut(bytes, after) => {
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", bytes.len());
                out.write_all(head.as_bytes()).and_then(|()| out.write_all(&bytes[..after]))
            }
            Answer::Slow => {
                let _ = out.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
                while out.write_all(b"x").is_ok() {
                    thread::sleep(Duration::from_millis(50));
                }
                Ok(())
            }
            Answer::Status(status) => {
                let head =
                    format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                out.write_all(head.as_bytes())
            }
        };
    }

    pub(crate) fn impatient(proxies: &Proxies) -> Client {
        Client::with_patience(proxies, Duration::from_secs(1)).unwrap()
    }

    fn client() -> Client {
        impatient(&Proxies::default())
    }

    fn named(bytes: &[u8]) -> Named {
        Named { sha256: Digest::of(bytes), bytes: bytes.len() as u64 }
    }

    fn is_unreachable<T>(result: Result<T, Trouble>, word: &str) -> bool {
        matches!(result, Err(Trouble::Unreachable(text)) if text.contains(word))
    }

    #[test]
    fn a_download_that_broke_off_goes_on() {
        let whole: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
        let bytes = whole.clone();
        let asked = Mutex::new(0);
        let (address, requests) = serve(move |_| {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            if *asked == 1 {
                Answer::Cut(bytes.clone(), 70_000)
            } else {
                Answer::File(bytes.clone())
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part");
        let url = format!("{address}/file");
        let mut last = 0;
        let mut save = || client().save(&url, &path, named(&whole), &mut |bytes| last = bytes);
        assert!(is_unreachable(save(), ""));
        assert_eq!(fs::read(&path).unwrap(), whole[..70_000]);
        save().unwrap();
        assert_eq!(fs::read(&path).unwrap(), whole);
        assert_eq!(*requests.lock().unwrap(), ["/file", "/file 70000-"]);
        assert_eq!(last, 200_000);
    }

    #[test]
    fn the_hash_judges_what_came() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part");
        let (address, requests) = serve(|path| match path {
            "/same-size" => Answer::File(b"evil".to_vec()),
            "/larger" => Answer::File(b"good and more".to_vec()),
            "/shorter" => Answer::File(b"evi".to_vec()),
            _ => Answer::File(b"good".to_vec()),
        });
        let save = |name: &str| {
            client().save(&format!("{address}/{name}"), &path, named(b"good"), &mut |_| ())
        };
        for name in ["same-size", "larger", "shorter"] {
            assert!(matches!(save(name), Err(Trouble::Corrupted(_))), "{name}");
            assert!(!path.exists(), "{name}");
        }
        // Each was asked for twice.
        assert_eq!(requests.lock().unwrap().len(), 6);
        // A part of another file is not kept.
        for part in [&b"ev"[..], b"evil", b"evil and more"] {
            fs::write(&path, part).unwrap();
            save("good").unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"good");
        }
    }

    #[test]
    fn a_mirror_that_does_not_deliver_is_left_in_time() {
        let (address, _) = serve(|path| match path {
            "/slow" => Answer::Slow,
            "/gone" => Answer::Status("404 Not Found"),
            "/loop" => Answer::Status("302 Found\r\nLocation: /loop"),
            _ => Answer::Status("503 Service Unavailable"),
        });
        let get = |name: &str| client().get(&format!("{address}/{name}"), 1000);
        let begin = std::time::Instant::now();
        assert!(is_unreachable(get("slow"), "bytes per second"));
        assert!(begin.elapsed() < Duration::from_secs(10));
        assert_eq!(get("gone"), Err(Trouble::Missing));
        assert!(is_unreachable(get("busy"), "503"));
        assert!(is_unreachable(get("loop"), "redirect"), "{:?}", get("loop"));
        let (large, _) = serve(|_| Answer::File(vec![0; 1001]));
        assert!(matches!(client().get(&large, 1000), Err(Trouble::Corrupted(_))));
        assert!(matches!(client().get("ftp://m.invalid/x", 1), Err(Trouble::Other(_))));
    }

    #[test]
    fn a_proxy_that_refuses_is_told() {
        let (address, _) = serve(|_| Answer::Status("403 Forbidden"));
        let proxies = |none_for: &str| Proxies {
            http: Some(address.clone()),
            https: None,
            none_for: none_for.to_owned(),
        };
        let (mirror, _) = serve(|_| Answer::File(b"ok".to_vec()));
        let get = |none_for| impatient(&proxies(none_for)).get(&mirror, 10);
        assert!(is_unreachable(get(""), ""), "{:?}", get(""));
        assert_eq!(get("x.invalid, 127.0.0.1").unwrap(), b"ok");
        // Nothing listens there.
        let closed = Proxies { http: Some("http://127.0.0.1:1".to_owned()), ..proxies("") };
        assert!(is_unreachable(impatient(&closed).get(&mirror, 10), "refused"));
        let wrong = Proxies { http: Some("no proxy at all".to_owned()), ..proxies("") };
        assert!(matches!(Client::new(&wrong), Err(Trouble::Other(_))));
    }

    /// It answers nothing but `GET`, as common proxies do for port 80.
    #[test]
    fn a_proxy_gets_whole_addresses_of_plain_http() {
        let (address, requests) = serve(|path| match path {
            "http://mirror.invalid/debian/a%2bb?c=d" => Answer::File(b"good".to_vec()),
            "http://mirror.invalid:8080/there" => {
                Answer::Status("302 Found\r\nLocation: /debian/a%2bb?c=d")
            }
            "http://mirror.invalid:8080/debian/a%2bb?c=d" => Answer::File(b"moved".to_vec()),
            "http://mirror.invalid/" => Answer::File(b"root".to_vec()),
            _ => Answer::Status("404 Not Found"),
        });
        let proxies = |http: &str| Proxies { http: Some(http.to_owned()), ..Proxies::default() };
        let client = impatient(&proxies(&address));
        let get = |url: &str| client.get(url, 10);
        let url = "http://mirror.invalid/debian/a%2bb?c=d";
        assert_eq!(get(url).unwrap(), b"good");
        assert_eq!(get("http://mirror.invalid:8080/there").unwrap(), b"moved");
        // A name and a password in an address are for the mirror.
        assert_eq!(get("http://user:word@mirror.invalid").unwrap(), b"root");
        assert_eq!(get("http://mirror.invalid/absent"), Err(Trouble::Missing));
        requests.lock().unwrap().clear();
        let folder = tempfile::tempdir().unwrap();
        let part = folder.path().join("part");
        fs::write(&part, "go").unwrap();
        client.save(url, &part, named(b"good"), &mut |_| ()).unwrap();

        let with_name = address.replace("http://", "http://user:pass%20word@");
        assert_eq!(impatient(&proxies(&with_name)).get(url, 10).unwrap(), b"good");
        let seen = std::mem::take(&mut *requests.lock().unwrap());
        assert_eq!(seen, [format!("{url} 2-"), format!("{url} Basic dXNlcjpwYXNzIHdvcmQ=")]);
        // What goes to a mirror by TLS needs `CONNECT`, which this one refuses.
        let tls = Proxies { https: Some(address), ..Proxies::default() };
        let refused = impatient(&tls).get("https://mirror.invalid/", 10);
        assert!(is_unreachable(refused, "the proxy allows no `CONNECT` to it"));
    }

    #[test]
    fn a_folder_is_an_archive_too() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a b+c"), "good").unwrap();
        let url = format!("file://{}/a%20b%2bc", folder.path().display());
        assert_eq!(client().get(&url, 4).unwrap(), b"good");
        let path = folder.path().join("part");
        fs::write(&path, "go").unwrap();
        client().save(&url, &path, named(b"good"), &mut |_| ()).unwrap();
        assert_eq!(client().get("file:/nonexistent/x", 4), Err(Trouble::Missing));
        let pipe = client().get("file:/dev/zero", 4);
        assert!(is_unreachable(pipe, ""));
    }
}
