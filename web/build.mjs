// Bundles the report's script and style into a folder: node build.mjs FOLDER
// crates/report/build.rs calls it; the files are the same for the same sources and lock file.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { build } from "esbuild";

const folder = process.argv[2] ?? "dist";

/** A parser of HTML reads every end of a line as \n; the script's hash has to be of what it reads. */
const text = (file) => readFileSync(file, "utf8").replaceAll("\r\n", "\n");

/** The texts that the licences of what is bundled ask to be passed on. */
function notices() {
  const files = [
    "echarts/NOTICE",
    "echarts/LICENSE",
    "zrender/LICENSE",
    "tslib/LICENSE.txt",
  ];
  const texts = files.map((file) => `${file}\n\n${text(join("node_modules", file)).trim()}`);
  return texts.join(`\n\n${"-".repeat(72)}\n\n`).replaceAll("*/", "* /");
}

await build({
  entryPoints: { report: "src/main.ts" },
  outdir: folder,
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  legalComments: "inline",
  define: { "process.env.NODE_ENV": '"production"' },
  banner: { js: `/*!\n${notices()}\n*/` },
  logLevel: "warning",
});

// What stands inside an HTML element must not end it, nor begin a comment.
for (const [file, forbidden] of [["report.js", /<\/script|<!--|<script|\r|\0/i], ["report.css", /<\/style/i]]) {
  if (forbidden.test(readFileSync(join(folder, file), "utf8"))) {
    throw new Error(`${file} cannot stand inside a page`);
  }
}
const script = readFileSync(join(folder, "report.js"));
writeFileSync(join(folder, "report.js.sha256"), createHash("sha256").update(script).digest("base64"));
