//! Proxies of addresses that begin with `http:`, which get the whole address in the request (RFC 9112, 3.2.2).
//! Many allow `CONNECT`, which ureq would ask for, to port 443 alone.
//!
//! ureq may change these interfaces without a new major version; the lock file holds the version that is used.

use base64::{Engine, prelude::BASE64_STANDARD};
use ureq::{
    Error, Proxy, ProxyProtocol,
    http::uri::Scheme,
    unversioned::transport::{
        Buffers, ConnectionDetails, Connector, DefaultConnector, NextTimeout, TcpConnector,
        Transport,
    },
};

/// The beginning of each request, which has no body and so goes out in one piece.
const BEGIN: &[u8] = b"GET /";

/// Connects to such a proxy, and otherwise as ureq does.
#[derive(Debug, Default)]
pub(super) struct ByProxy(DefaultConnector);

impl Connector for ByProxy {
    type Out = Box<dyn Transport>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<()>,
    ) -> Result<Option<Self::Out>, Error> {
        let uri = details.uri;
        let takes_addresses = |proxy: &&Proxy| {
            proxy.protocol() == ProxyProtocol::Http
                && uri.scheme() == Some(&Scheme::HTTP)
                && !proxy.is_no_proxy(uri)
        };
        let Some(proxy) = details.config.proxy().filter(takes_addresses) else {
            return self.0.connect(details, chained);
        };
        let to_proxy = ConnectionDetails {
            uri: proxy.uri(),
            addrs: details.resolver.resolve(proxy.uri(), details.config, details.timeout)?,
            config: details.config,
            request_level: details.request_level,
            resolver: details.resolver,
            now: details.now,
            timeout: details.timeout,
            current_time: details.current_time.clone(),
            run_connector: details.run_connector.clone(),
            register_shutdown: details.register_shutdown.clone(),
        };
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let host = authority.rsplit('@').next().unwrap_or_default();
        let opened = TcpConnector::default().connect(&to_proxy, chained)?;
        Ok(opened.map(|inner| -> Self::Out {
            let begin = format!("GET http://{host}/").into_bytes();
            Box::new(Whole { inner: Box::new(inner), begin, credentials: credentials(proxy) })
        }))
    }
}

/// Returns the line with the name and the password for a proxy (RFC 7617); empty where none are given.
fn credentials(proxy: &Proxy) -> Vec<u8> {
    let (user, password) = (proxy.username(), proxy.password());
    if user.is_none() && password.is_none() {
        return Vec::new();
    }
    let both = format!("{}:{}", user.unwrap_or_default(), password.unwrap_or_default());
    format!("Proxy-Authorization: Basic {}\r\n", BASE64_STANDARD.encode(both)).into_bytes()
}

/// A connection to a proxy, on which each request names the whole address.
#[derive(Debug)]
struct Whole {
    inner: Box<dyn Transport>,
    /// The beginning of a request, to the slash behind the host.
    begin: Vec<u8>,
    credentials: Vec<u8>,
}

impl Transport for Whole {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let output = self.inner.buffers().output();
        let request = &output[..amount];
        let whole = request.strip_prefix(BEGIN).and_then(|rest| {
            let end = rest.windows(2).position(|bytes| bytes == b"\r\n")? + 2;
            Some([&*self.begin, &rest[..end], &self.credentials, &rest[end..]].concat())
        });
        let Some(whole) = whole else { return self.inner.transmit_output(amount, timeout) };
        let too_long = || Error::Other("the address is too long".into());
        let place = output.get_mut(..whole.len()).ok_or_else(too_long)?;
        place.copy_from_slice(&whole);
        self.inner.transmit_output(whole.len(), timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.inner.await_input(timeout)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }
}
