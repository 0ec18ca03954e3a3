import type { Size } from "./plot.ts";

/** As ECharts is told where a label stands: beside the point, and moved up or down from there. */
export interface Place {
  position: "right" | "left" | "top" | "bottom";
  offset: [number, number];
}

interface Wanted {
  at: [number, number];
  text: string;
  /** Whether it is placed before the others. */
  first: boolean;
}

type Box = [left: number, top: number, right: number, bottom: number];

/** An upright or a level line, such as an error bar. */
type Line = [[number, number], [number, number]];

const POINT = 7;
const AHEAD = POINT + 5;

/** From the best on. The last four are between the error bars of the point itself. */
const PLACES: Place[] = [
  { position: "right", offset: [0, 0] },
  { position: "top", offset: [0, 0] },
  { position: "bottom", offset: [0, 0] },
  { position: "left", offset: [0, 0] },
  { position: "right", offset: [-4, -11] },
  { position: "right", offset: [-4, 11] },
  { position: "left", offset: [4, -11] },
  { position: "left", offset: [4, 11] },
];

/** Where each label stands without covering a point or another label, and if that can be no line;
 * nowhere if it cannot be. */
export function placeLabels(wanted: Wanted[], lines: Line[], size: Size): (Place | undefined)[] {
  const drawn = lines.map(([[x1, y1], [x2, y2]]): Box =>
    [Math.min(x1, x2), Math.min(y1, y2), Math.max(x1, x2) + 1, Math.max(y1, y2) + 1]
  );
  const taken = wanted.map(({ at: [x, y] }): Box => [x - POINT, y - POINT, x + POINT, y + POINT]);
  const result: (Place | undefined)[] = wanted.map(() => undefined);
  const order = wanted.map((_, index) => index).sort((a, b) => Number(wanted[b]?.first) - Number(wanted[a]?.first));
  for (const obstacles of [drawn, []]) {
    for (const index of order) {
      if (result[index]) continue;
      const { at, text } = wanted[index] as Wanted;
      const free = (box: Box) => inside(box, size) && ![...taken, ...obstacles].some((other) => overlap(box, other));
      const place = PLACES.find((place) => free(boxAt(at, text.length * 6.1, place)));
      if (!place) continue;
      result[index] = place;
      taken.push(boxAt(at, text.length * 6.1, place));
    }
  }
  return result;
}

function boxAt([x, y]: [number, number], width: number, { position, offset: [right, down] }: Place): Box {
  const [left, top] = {
    right: [x + AHEAD, y - 6],
    left: [x - AHEAD - width, y - 6],
    top: [x - width / 2, y - AHEAD - 11],
    bottom: [x - width / 2, y + AHEAD],
  }[position] as [number, number];
  return [left + right, top + down, left + right + width, top + down + 12];
}

function inside([left, top, right, bottom]: Box, { width, height, margin }: Size): boolean {
  return left >= margin.left && top >= margin.top && right <= width - 2 && bottom <= height - margin.bottom;
}

function overlap(a: Box, b: Box): boolean {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}
