// Bundles the scripts and styles of the pages into a folder: node build.mjs FOLDER
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

/** Bundles a page's script and style. What a page does not import is no part of its bundle. */
async function bundle(name, entry, banner) {
  await build({
    entryPoints: { [name]: entry },
    outdir: folder,
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    legalComments: "inline",
    define: { "process.env.NODE_ENV": '"production"' },
    banner,
    logLevel: "warning",
  });
  // What stands inside an HTML element must not end it, nor begin a comment.
  for (const [file, forbidden] of [[`${name}.js`, /<\/script|<!--|<script|\r|\0/i], [`${name}.css`, /<\/style/i]]) {
    if (forbidden.test(readFileSync(join(folder, file), "utf8"))) {
      throw new Error(`${file} cannot stand inside a page`);
    }
  }
  const script = readFileSync(join(folder, `${name}.js`));
  writeFileSync(join(folder, `${name}.js.sha256`), createHash("sha256").update(script).digest("base64"));
}

await bundle("report", "src/main.ts", { js: `/*!\n${notices()}\n*/` });
await bundle("atlas", "src/atlas.ts", {});
