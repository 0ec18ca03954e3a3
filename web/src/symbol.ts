import type { Mark } from "./marks.ts";

const SVG = "http://www.w3.org/2000/svg";

/** A configuration's symbol beside a text, which says the same. */
export function symbol({ shape, hollow }: Pick<Mark, "shape" | "hollow">, color = "currentColor"): SVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "-2 -2 24 24");
  svg.setAttribute("class", "symbol");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", shape);
  path.setAttribute("fill", hollow ? "none" : color);
  path.setAttribute("stroke", color);
  path.setAttribute("stroke-width", "3");
  svg.append(path);
  return svg;
}
