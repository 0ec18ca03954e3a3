"""Opens recordings and gives each table as the bytes of a Parquet file."""

import os
from collections.abc import Sequence
from typing import final

__all__ = ["RecordingError", "Recordings"]

class RecordingError(ValueError):
    """Reason why recordings cannot be read: no recording, one of a newer format, a damaged one."""

@final
class Recordings:
    """Recordings that were opened. Each table is read when it is asked for."""

    def __new__(cls, paths: Sequence[str | os.PathLike[str]]) -> Recordings:
        """Opens recordings by the paths of their folders."""

    @property
    def warnings(self) -> list[str]:
        """Possible oversights: machines that differ, cells that are in two recordings."""

    def tables(self, names: Sequence[str]) -> list[bytes]:
        """Reads all cells once, and returns tables of them, by their names, each as the bytes of a Parquet file."""
