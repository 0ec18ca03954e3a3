// Tooltips are elements, so that no name in them is read as HTML.

import { type Child, h } from "../dom.ts";
import type { Entry } from "../entries.ts";
import { type Look, modeVariable } from "../look.ts";
import { symbol } from "../symbol.ts";

interface Tip {
  look: Look;
  trigger?: "item" | "axis";
}

export function tooltip({ look, trigger = "item" }: Tip): object {
  return {
    trigger,
    confine: true,
    transitionDuration: 0,
    backgroundColor: look.page,
    borderColor: look.faint,
    textStyle: { color: look.ink, fontSize: 12 },
    extraCssText: "max-width:min(26rem,90vw);white-space:normal;box-shadow:0 2px 8px #0003",
  };
}

/** The name of a configuration above lines of text. */
export function tip(entry: Entry, ...lines: Child[]): HTMLElement {
  const title = h("strong", {}, symbol(entry.mark, modeVariable(entry.mark.mode)), ` ${entry.name}`);
  return h("div", { class: "tip" }, title, ...lines.map((line) => h("div", {}, line)));
}
