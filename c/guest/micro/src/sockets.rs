//! Sockets whose two ends one process has: it never waits.

use alloc::vec;
use core::net::{Ipv4Addr, SocketAddrV4};

use rustix::{
    fd::OwnedFd,
    io,
    net::{
        AddressFamily, SocketAddrV4 as Address, SocketFlags, SocketType, accept_with, bind,
        connect, getsockname, listen, socket_with, socketpair, sockopt::set_tcp_nodelay,
    },
};

use crate::meter::Meter;

/// Sends through a socket of the Unix domain.
pub fn unix<const BYTES: usize>(meter: &mut Meter, times: u32) -> io::Result<()> {
    let (from, to) =
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    transfer::<BYTES>(meter, times, &from, &to)
}

/// Sends through a connection of TCP over the loopback interface.
pub fn tcp<const BYTES: usize>(meter: &mut Meter, times: u32) -> io::Result<()> {
    let (listener, address) = bound(SocketType::STREAM)?;
    listen(&listener, 1)?;
    let from = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    connect(&from, &address)?;
    let to = accept_with(&listener, SocketFlags::CLOEXEC)?;
    set_tcp_nodelay(&from, true)?;
    transfer::<BYTES>(meter, times, &from, &to)
}

/// Sends datagrams of UDP over the loopback interface.
pub fn udp<const BYTES: usize>(meter: &mut Meter, times: u32) -> io::Result<()> {
    let (to, address) = bound(SocketType::DGRAM)?;
    let from = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    connect(&from, &address)?;
    transfer::<BYTES>(meter, times, &from, &to)
}

/// Returns a socket at a free port of the loopback interface, and its address.
fn bound(kind: SocketType) -> io::Result<(OwnedFd, Address)> {
    let socket = socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, None)?;
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0))?;
    let address = getsockname(&socket)?.try_into()?;
    Ok((socket, address))
}

fn transfer<const BYTES: usize>(
    meter: &mut Meter,
    times: u32,
    from: &OwnedFd,
    to: &OwnedFd,
) -> io::Result<()> {
    let (sent, mut received) = (vec![1_u8; BYTES], vec![0_u8; BYTES]);
    meter.measure(|| {
        for _ in 0..times {
            io::write(from, &sent)?;
            let mut left = BYTES;
            while left > 0 {
                left -= io::read(to, &mut received[..left])?;
            }
        }
        Ok(())
    })
}
