"""Says what is done, and how long it took."""

import contextlib
import sys
import time


@contextlib.contextmanager
def step(what):
    """Prints the words now, and the seconds at the end."""
    start = time.monotonic()
    print(f"  {what} ...", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print(f"  {what}: {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
