//! The loopback interface: the guest has no other.

use core::{mem::size_of, ptr};

use linux_raw_sys::{
    general::{__NR_close, __NR_ioctl, __NR_socket},
    ioctl::{SIOCGIFFLAGS, SIOCSIFFLAGS},
    net::{AF_INET, SOCK_DGRAM},
};
use rustix::io::Errno;

use crate::{
    arch::syscall,
    trouble::{Attempt, Result},
};

const IFF_UP: i16 = 1;

/// `struct ifreq` with its flags (netdevice(7)); the kernel copies 40 bytes.
#[repr(C)]
struct Request {
    name: [u8; 16],
    flags: i16,
    rest: [u8; 22],
}

const _: () = assert!(size_of::<Request>() == 40);

/// Brings `lo` up; the kernel then gives it 127.0.0.1 by itself (`inetdev_event` in
/// net/ipv4/devinet.c). A kernel without IPv4, or without any network, has none, and what needs it
/// will say so.
pub fn bring_up_loopback() -> Result<()> {
    // SAFETY: no pointers.
    let socket =
        match unsafe { syscall(__NR_socket, [AF_INET as usize, SOCK_DGRAM as usize, 0, 0]) } {
            Err(Errno::AFNOSUPPORT | Errno::NOSYS) => return Ok(()),
            result => result.attempt(|| "make a socket".into())?,
        };
    let result = set_up(socket);
    // SAFETY: the descriptor is this function's own.
    let _ = unsafe { syscall(__NR_close, [socket, 0, 0, 0]) };
    result.attempt(|| "bring up lo".into())
}

fn set_up(socket: usize) -> core::result::Result<(), Errno> {
    let mut request = Request { name: [0; 16], flags: 0, rest: [0; 22] };
    request.name[..2].copy_from_slice(b"lo");
    control(socket, SIOCGIFFLAGS, &mut request)?;
    request.flags |= IFF_UP;
    control(socket, SIOCSIFFLAGS, &mut request)
}

fn control(socket: usize, command: u32, request: &mut Request) -> core::result::Result<(), Errno> {
    let arguments = [socket, command as usize, ptr::from_mut(request).addr(), 0];
    // SAFETY: the request is as long as what the kernel reads and writes.
    unsafe { syscall(__NR_ioctl, arguments) }.map(drop)
}
