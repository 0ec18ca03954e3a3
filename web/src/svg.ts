// Drawings that came with the data.

/** The drawing, without the size that it would have alone; nothing where the text is none. */
export function parsed(text: string): SVGSVGElement | undefined {
  const root = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  if (!(root instanceof SVGSVGElement)) return undefined;
  const { width, height } = root.viewBox.baseVal;
  if (!(width > 0 && height > 0)) return undefined;
  // Paper is light whatever the screen is.
  for (const style of root.querySelectorAll("style")) {
    style.textContent = (style.textContent ?? "").replace(/@media\s*\(prefers-color-scheme/g, "@media screen and (prefers-color-scheme");
  }
  const svg = document.importNode(root, true);
  svg.removeAttribute("width");
  svg.removeAttribute("height");
  return svg;
}
