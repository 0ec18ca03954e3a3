// Linear and logarithmic axes. Plots get logarithms as they are, so that zooming is the same on
// both; ticks are chosen here, for the part of the axis that is in view.

export type Span = [number, number];

export interface Scale {
  log: boolean;
  to(value: number): number;
  from(place: number): number;
}

export const LINEAR: Scale = { log: false, to: (value) => value, from: (place) => place };
export const LOG: Scale = { log: true, to: Math.log10, from: (place) => 10 ** place };

/** Logarithmic if the values span more than a decade; zero and less have no logarithm. */
export function scaleFor(values: number[]): Scale {
  const [low, high] = extent(values);
  return low > 0 && high / low > 10 ? LOG : LINEAR;
}

export function extent(values: number[]): Span {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}

/** An axis shows so many steps of an instrument at least, so that one of them is no gulf. */
const STEPS_MIN = 12;

/** The part of a value that an axis shows around it where there is no other. */
const ALONE = 0.2;

/** The values in an axis's units, with some room on both sides; never empty. `step` is the smallest
 * difference that the instrument tells. */
export function padded(scale: Scale, values: number[], before = 0.05, after = before, step = 0): Span {
  const [least, most] = extent(values);
  const alone = least === most ? Math.abs(most) * ALONE || 1 : 0;
  const [low, high] = atLeast([least, most], Math.max(alone, STEPS_MIN * step)).map(scale.to) as Span;
  return [low - before * (high - low), high + after * (high - low)];
}

/** A span of this width at least, around the same middle; one of positive values stays above zero. */
function atLeast([low, high]: Span, width: number): Span {
  const lacking = width - (high - low);
  if (lacking <= 0) return [low, high];
  const first = low > 0 ? Math.max(low - lacking / 2, Math.min(low, width / 1000)) : low - lacking / 2;
  return [first, first + width];
}

/** Places of ticks in an axis's units, at most `room`. */
export function ticks(scale: Scale, span: Span, room: number): number[] {
  return scale.log ? logTicks(span, room) : evenTicks(span, room);
}

function evenTicks([low, high]: Span, room: number): number[] {
  const rough = (high - low) / Math.max(1, room);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const first = Math.ceil(low / step);
  const count = Math.max(0, Math.min(100, Math.floor(high / step) - first + 1));
  // Division keeps 0.3 from becoming 0.30000000000000004.
  return Array.from({ length: count }, (_, at) => Number(((first + at) * step).toPrecision(12)));
}

const DENSER = [[1, 1.5, 2, 3, 4, 5, 6, 8], [1, 2, 3, 5], [1, 2, 5], [1, 3], [1]];

function logTicks([low, high]: Span, room: number): number[] {
  for (const mantissas of DENSER) {
    const found: number[] = [];
    for (let decade = Math.floor(low); decade <= high; decade++) {
      for (const mantissa of mantissas) {
        const place = decade + Math.log10(mantissa);
        if (place >= low && place <= high) found.push(place);
      }
    }
    if (found.length <= room && found.length >= 3) return found;
    // Zoomed in that far, even steps are the better ones.
    if (found.length < 3) return evenTicks([10 ** low, 10 ** high], room).map(Math.log10);
  }
  const step = Math.ceil((high - low) / room);
  return evenTicks([low / step, high / step], room).filter(Number.isInteger).map((tick) => tick * step);
}
