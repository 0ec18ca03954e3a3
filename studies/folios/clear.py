"""Touches new memory for the first time and gives it back, for some seconds; prints how much of it."""

import sys
import time

PAGE = 4 << 10
# malloc(3) maps what is larger than 32 MiB anew each time; some more, so that whole folios lie in it.
SIZE = 34 << 20

seconds = float(sys.argv[1])
start = time.monotonic()
touched = 0
while time.monotonic() < start + seconds:
    memory = bytearray(SIZE)
    for at in range(0, SIZE, PAGE):
        memory[at] = 1
    touched += SIZE
    del memory
print(f"{touched / (1 << 20) / (time.monotonic() - start):.1f} MiB/s")
