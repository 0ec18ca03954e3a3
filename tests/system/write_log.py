"""The log of QEMU's driver blklogwrites: every write to a disk, in order.

The format is that of Linux's dm-log-writes (Documentation/admin-guide/device-mapper/log-writes.rst).
"""

import dataclasses
import struct

SECTOR = 512
MAGIC = 0x6A736677736872
DISCARD = 4


@dataclasses.dataclass(frozen=True)
class Write:
    """A write to a disk."""

    offset: int
    data: bytes


def writes(path, begin, end=None):
    """The writes between two positions of a log, which `position` gave."""
    end = position(path) if end is None else end
    with path.open("rb") as log:
        magic, version, _, sector = struct.unpack("<QQQI", log.read(28))
        if (magic, version, sector) != (MAGIC, 1, SECTOR):
            raise ValueError(f"{path} is no log of writes")
        at = SECTOR
        while at < end:
            log.seek(at)
            first, count, flags, _ = struct.unpack("<QQQQ", log.read(32))
            length = 0 if flags & DISCARD else count * SECTOR
            log.seek(at + SECTOR)
            # What is no write is a flush or a mark.
            if at >= begin and length > 0:
                yield Write(first * SECTOR, log.read(length))
            at += SECTOR + length


def position(path):
    """Where the next entry of a log will be, or a little before."""
    return path.stat().st_size
