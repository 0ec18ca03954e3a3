use std::{fmt, num::NonZeroU32};

use preemptlab_protocol::caches::Groups;
use serde::{Deserialize, Serialize};

/// The most virtual CPUs of a machine.
const CPUS_MAX: u32 = 8;

/// Sockets, cores and threads of a virtual machine, the sharing of its caches, and its NUMA nodes.
/// It has 1 to 8 CPUs, and a node has whole cores: of one socket, or of several whole sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Keys", into = "Keys")]
pub struct Topology {
    keys: Keys,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Keys {
    sockets: u32,
    cores: u32,
    threads: u32,
    numa_nodes: u32,
    caches: Caches,
}

impl Default for Keys {
    fn default() -> Self {
        Self { sockets: 1, cores: 1, threads: 1, numa_nodes: 1, caches: Caches::default() }
    }
}

/// Sharing of the caches of each level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Caches {
    /// Of the first level, for data and for instructions.
    pub l1: Sharing,
    /// Of the second level.
    pub l2: Sharing,
    /// Of the third level.
    pub l3: Sharing,
}

impl Default for Caches {
    fn default() -> Self {
        Self { l1: Sharing::Core, l2: Sharing::Core, l3: Sharing::Socket }
    }
}

/// The CPUs that share a cache. QEMU knows none that threads of a core do not share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sharing {
    /// Threads of a core share one.
    Core,
    /// Cores of a socket share one.
    Socket,
}

impl Sharing {
    /// Returns its name, which is also QEMU's.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Socket => "socket",
        }
    }
}

/// There is no such topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// A part of it is zero, or the product is too large.
    #[error(
        "sockets, cores and threads must be 1 or more, and their product, the number of CPUs, 1 to 8"
    )]
    Cpus,
    /// The nodes are more than cores, or not of equal parts.
    #[error(
        "{nodes} NUMA nodes cannot have equal parts of {sockets} sockets of {cores} cores: a node has \
         whole cores of one socket, or whole sockets"
    )]
    Nodes {
        /// NUMA nodes.
        nodes: u32,
        /// Sockets.
        sockets: u32,
        /// Cores of a socket.
        cores: u32,
    },
    /// A cache is shared by more CPUs than one of the next level.
    #[error("a cache cannot be shared by more CPUs than one of the next level")]
    Caches,
}

impl Topology {
    /// Returns the number of CPUs.
    pub const fn cpus(self) -> u32 {
        self.keys.sockets * self.keys.cores * self.keys.threads
    }

    /// Returns the sockets.
    pub const fn sockets(self) -> u32 {
        self.keys.sockets
    }

    /// Returns the cores of a socket.
    pub const fn cores(self) -> u32 {
        self.keys.cores
    }

    /// Returns the threads of a core.
    pub const fn threads(self) -> u32 {
        self.keys.threads
    }

    /// Returns the number of NUMA nodes.
    pub const fn numa_nodes(self) -> u32 {
        self.keys.numa_nodes
    }

    /// Returns the sharing of the caches.
    pub const fn caches(self) -> Caches {
        self.keys.caches
    }

    /// Returns which CPUs are near to each other. CPUs without a topology are cores that share the last cache.
    pub fn groups(topology: Option<Self>, cpus: u32) -> Groups {
        let positive = |count: u32| NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
        let (core, socket, sharing) = match topology {
            Some(it) => (it.threads(), it.cores() * it.threads(), it.caches().l3),
            None => (1, cpus, Sharing::Socket),
        };
        let complex = match sharing {
            Sharing::Core => core,
            Sharing::Socket => socket,
        };
        let [core, complex, socket] = [core, complex, socket].map(positive);
        Groups { core, complex, socket }
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Keys { sockets, cores, threads, numa_nodes, caches: Caches { l1, l2, l3 } } = self.keys;
        let caches = [l1, l2, l3].map(Sharing::as_str);
        write!(
            f,
            "sockets {sockets}, cores {cores}, threads {threads}, NUMA nodes {numa_nodes}; an L1 cache \
             for each {}, L2 {}, L3 {}",
            caches[0], caches[1], caches[2]
        )
    }
}

impl TryFrom<Keys> for Topology {
    type Error = TopologyError;

    fn try_from(keys: Keys) -> Result<Self, TopologyError> {
        let Keys { sockets, cores, threads, numa_nodes: nodes, caches } = keys;
        let cpus = sockets.checked_mul(cores).and_then(|it| it.checked_mul(threads));
        if !cpus.is_some_and(|cpus| (1..=CPUS_MAX).contains(&cpus)) {
            return Err(TopologyError::Cpus);
        }
        let has_whole_sockets = nodes > 0 && sockets.is_multiple_of(nodes);
        let has_parts_of_one =
            nodes > 0 && nodes.is_multiple_of(sockets) && cores.is_multiple_of(nodes / sockets);
        if !has_whole_sockets && !has_parts_of_one {
            return Err(TopologyError::Nodes { nodes, sockets, cores });
        }
        if caches.l1 > caches.l2 || caches.l2 > caches.l3 {
            return Err(TopologyError::Caches);
        }
        Ok(Self { keys })
    }
}

impl From<Topology> for Keys {
    fn from(topology: Topology) -> Self {
        topology.keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Topology, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn cpus_are_near_as_the_topology_says() {
        let groups = |text: &str| {
            let topology: Topology = serde_json::from_str(text).unwrap();
            let Groups { core, complex, socket } =
                Topology::groups(Some(topology), topology.cpus());
            [core, complex, socket].map(NonZeroU32::get)
        };
        assert_eq!(groups(r#"{"sockets":2,"cores":2,"threads":2}"#), [2, 4, 4]);
        assert_eq!(groups(r#"{"cores":4,"caches":{"l3":"core"}}"#), [1, 1, 4]);
        let Groups { core, complex, .. } = Topology::groups(None, 8);
        assert_eq!([core, complex].map(NonZeroU32::get), [1, 8]);
    }

    #[test]
    fn what_is_not_said_is_one() {
        let topology = read("{\"cores\":4}").unwrap();
        assert_eq!((topology.cpus(), topology.sockets(), topology.numa_nodes()), (4, 1, 1));
        let text = serde_json::to_string(&topology).unwrap();
        assert_eq!(read(&text), Ok(topology));
        let all = read("{\"sockets\":2,\"cores\":2,\"threads\":2,\"numa_nodes\":4}").unwrap();
        assert_eq!((all.cpus(), all.numa_nodes()), (8, 4));
    }

    #[test]
    fn no_machine_is_what_cannot_be() {
        for (text, word) in [
            ("{\"sockets\":0}", "1 or more"),
            ("{\"cores\":9}", "1 to 8"),
            ("{\"sockets\":3,\"cores\":3}", "1 to 8"),
            ("{\"sockets\":65536,\"cores\":65536}", "1 to 8"),
            ("{\"sockets\":4294967295,\"cores\":4294967295,\"threads\":4294967295}", "1 to 8"),
            ("{\"cores\":4294967296}", "invalid value"),
            ("{\"cores\":-1}", "invalid value"),
            ("{\"cores\":\"2\"}", "invalid type"),
            ("{\"dies\":2}", "unknown field"),
            ("{\"sockets\":2,\"numa_nodes\":0}", "NUMA nodes"),
            ("{\"sockets\":2,\"numa_nodes\":3}", "NUMA nodes"),
            ("{\"sockets\":2,\"cores\":3,\"numa_nodes\":3}", "NUMA nodes"),
            ("{\"sockets\":2,\"threads\":2,\"numa_nodes\":4}", "NUMA nodes"),
            ("{\"numa_nodes\":4294967295}", "NUMA nodes"),
            ("{\"caches\":{\"l2\":\"socket\",\"l3\":\"core\"}}", "next level"),
            ("{\"caches\":{\"l4\":\"socket\"}}", "unknown field"),
            ("{\"caches\":{\"l2\":\"die\"}}", "unknown variant"),
            ("{\"caches\":{\"l1\":\"thread\"}}", "unknown variant"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(word), "{text}: {said}");
        }
    }
}
