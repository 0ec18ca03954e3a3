// Reads the page's data; document.ts has its types, generated from Rust.

import type { CellRow, Effect, PageData } from "./document.ts";

/** What a comparison with the baseline says. */
export type Verdict = Effect["verdict"];

export type CellStatus = "completed" | NonNullable<CellRow["no_result"]>["status"];

/** Control characters, and those that turn the direction of what follows. */
const INVISIBLE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Reads the data inside the document. */
export function read(): PageData {
  return parsed("data") as PageData;
}

/** Reads the JSON of an element, without what cannot be seen. */
export function parsed(id: string): unknown {
  const text = document.getElementById(id)?.textContent ?? "";
  const visible = (_: string, value: unknown) =>
    typeof value === "string" ? value.replace(INVISIBLE, "\ufffd") : value;
  // Most reports have no such character, and then need no visit to every value.
  const clean = !/\\[u0tbfr]/.test(text.replaceAll("\\u003c", "")) && text.search(INVISIBLE) < 0;
  return JSON.parse(text, clean ? undefined : visible);
}
