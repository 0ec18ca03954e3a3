// Colour says the mode, the symbol's shape the kernel, and a hollow symbol PREEMPT_RT.

import type { Configuration, Group } from "./document.ts";

export interface Mark {
  /** The mode; `Look.modes` has its colour. */
  mode: string;
  /** Distinguishes kernels of recordings. */
  kernel: string;
  /** An SVG path in a square of 20. */
  shape: string;
  hollow: boolean;
  /** For lines, where there is no symbol. */
  dash: number[];
}

const SHAPES = [
  "M10 1A9 9 0 1 1 9.99 1Z",
  "M10 .5L19.5 17.5H.5Z",
  "M2.2 2.2H17.8V17.8H2.2Z",
  "M10 0L20 10L10 20L0 10Z",
  "M10 19.5L.5 2.5H19.5Z",
  "M7 1H13V7H19V13H13V19H7V13H1V7H7Z",
  "M5 1.5H15L20 10L15 18.5H5L0 10Z",
];

const DASHES = [[], [7, 3], [2, 2.5], [9, 3, 2, 3], [4, 4], [12, 4], [1, 4]];

export function kernelKey({ run, kernel, settings }: Configuration): string {
  return [run ?? "", kernel, settings].join("\n");
}

/** A real-time kernel has the shape of the kernel that it is a variant of. */
export function marks(group: Group): (of: Configuration) => Mark {
  const families: string[] = [];
  const kernels: string[] = [];
  for (const each of group.configurations) {
    if (!families.includes(family(each))) families.push(family(each));
    if (!kernels.includes(kernelKey(each))) kernels.push(kernelKey(each));
  }
  return (of) => ({
    mode: of.preempt,
    kernel: kernelKey(of),
    shape: SHAPES[families.indexOf(family(of)) % SHAPES.length] ?? "",
    hollow: of.rt === true,
    dash: DASHES[kernels.indexOf(kernelKey(of)) % DASHES.length] ?? [],
  });
}

function family(of: Configuration): string {
  return of.rt === true ? kernelKey({ ...of, kernel: of.kernel.replace(/-rt$/, "") }) : kernelKey(of);
}
