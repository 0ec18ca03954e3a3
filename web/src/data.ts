// The page's data, as crates/report-html writes it; its documentation is there.

export interface PageData {
  format: number;
  title: string;
  generator: string;
  margin: number;
  groups: Group[];
  kernels: KernelUsed[];
  qemu: QemuUsed[];
  images: ImageUsed[];
  command_lines: string[];
  cells: CellRow[];
}

export interface Group {
  workload: string;
  cpus: number;
  replicates: number;
  baseline: number | null;
  metrics: MetricInfo[];
  configurations: Configuration[];
}

export interface MetricInfo {
  name: string;
  unit: string;
  better: "lower" | "higher";
  headline: boolean;
}

export interface Configuration {
  run?: string;
  kernel: string;
  rt: boolean | null;
  mode: string;
  observed: string[];
  replicates: number;
  unavailable?: string;
  failures: Failure[];
  missing: number;
  metrics: MetricValues[];
  histograms: Histogram[];
  timelines: Timeline[];
}

export interface Failure {
  replicate: number;
  reason: string;
}

export type Word = "better" | "worse" | "same" | "undecided";

export interface MetricValues {
  name: string;
  values: { replicate: number; value: number }[];
  median: number;
  min: number;
  max: number;
  interval?: [number, number];
  ratio?: number;
  ratio_interval?: [number, number];
  word?: Word;
  more?: number;
  note?: string;
}

export interface Histogram {
  probe: string;
  metric_prefix: string;
  unit: string;
  counts: [number, number][];
  overflow: number;
  overflow_max?: number;
}

export interface Timeline {
  caption: string;
  sentence: string;
  svg: string;
}

export type CellStatus = "completed" | "failed" | "unavailable" | "missing";

export interface CellRow {
  group: number;
  configuration: number;
  replicate: number;
  status: CellStatus;
  reason?: string;
  id?: string;
  digest?: string;
  seed?: string;
  command_line?: number;
}

export interface Package {
  name: string;
  version: string;
}

export interface KernelUsed {
  run?: string;
  name: string;
  release: string;
  image_sha256: string;
  packages: Package[];
}

export interface QemuUsed {
  run?: string;
  version: string;
  digest: string;
  packages: Package[];
}

export interface ImageUsed {
  run?: string;
  kernels: string[];
  workloads: string[];
  sha256: string;
  packages: Package[];
}

/** Control characters, and those that turn the direction of what follows. */
const INVISIBLE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Reads the data inside the document. */
export function read(): PageData {
  const text = document.getElementById("data")?.textContent ?? "";
  const visible = (_: string, value: unknown) =>
    typeof value === "string" ? value.replace(INVISIBLE, "\ufffd") : value;
  // Most reports have no such character, and then need no visit to every value.
  const clean = !/\\[u0tbfr]/.test(text.replaceAll("\\u003c", "")) && text.search(INVISIBLE) < 0;
  return JSON.parse(text, clean ? undefined : visible) as PageData;
}
