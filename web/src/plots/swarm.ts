/** How far each point moves aside so that points at nearly one place do not hide each other: up and
 * down in turns, closer together where there are too many for the room. */
export function swarm(places: number[], size: number, room: number): number[] {
  const order = places.map((_, index) => index).sort((a, b) => (places[a] as number) - (places[b] as number));
  const offsets = places.map(() => 0);
  let start = 0;
  while (start < order.length) {
    const first = places[order[start] as number] as number;
    let end = start + 1;
    while (end < order.length && (places[order[end] as number] as number) - first < size * 0.8) end++;
    const step = Math.min(size, (2 * room) / Math.max(1, end - start - 1));
    for (let at = start; at < end; at++) {
      offsets[order[at] as number] = (at - start - (end - start - 1) / 2) * step;
    }
    start = end;
  }
  return offsets;
}
