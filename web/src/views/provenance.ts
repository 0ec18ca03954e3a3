// What was run: kernels, QEMU, guest images, with where they come from.

import type { Package, PageData } from "../document.ts";
import { h } from "../dom.ts";
import { plural } from "../format.ts";

export function provenance(data: PageData): HTMLElement {
  return h(
    "div",
    {},
    list("Kernels", ["name", "release", "image (SHA-256)", "packages"], data.kernels.map((kernel) => [
      named(kernel.run, kernel.name), kernel.release, hash(kernel.image_sha256), packages(kernel.packages),
    ])),
    list("QEMU", ["version", "build (SHA-256)", "packages"], data.qemu.map((qemu) => [
      named(qemu.run, qemu.version), hash(qemu.digest), packages(qemu.packages),
    ])),
    list("Guest images", ["kernel", "workload", "image (SHA-256)", "packages"], data.images.map((image) => [
      named(image.run, image.kernels.join(", ")), image.workloads.join(", "), hash(image.sha256), packages(image.packages),
    ])),
    list("Kernel command lines", ["#", "command line"], data.command_lines.map((line, index) => [
      String(index + 1), h("code", {}, line),
    ])),
  );
}

function named(run: string | null, name: string): string {
  return run === null ? name : `${run}: ${name}`;
}

function list(title: string, heads: string[], rows: (Node | string)[][]): HTMLElement {
  if (rows.length === 0) return h("div", {}, h("h3", {}, title), h("p", { class: "empty" }, "None."));
  const table = h(
    "table",
    { class: "plain" },
    h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell))))),
  );
  return h("div", {}, h("h3", {}, title), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, table));
}

/** In full: it is there to be compared. */
function hash(text: string): HTMLElement {
  return h("code", { class: "hash" }, text);
}

/** Few are written out; many open on demand, and on paper. */
function packages(all: Package[]): Node {
  const items = all.map(({ name, version }) => h("li", {}, h("code", {}, `${name} ${version}`)));
  const entire = h("ul", { class: "packages" }, ...items);
  return all.length <= 3 ? entire : h("details", {}, h("summary", {}, plural(all.length, "package")), entire);
}
