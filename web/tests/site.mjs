// Opens every page of the built site at the width of a phone, a tablet and a desk, without a network, follows
// each internal link to its page and heading, and takes pictures of the first page: npm run test:site --
// SITE_FOLDER SCREENSHOT_FOLDER

import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { withBrowser } from "./browser.mjs";

const [site, screenshots] = process.argv.slice(2).map((folder) => resolve(folder));
if (!screenshots) throw new Error("usage: npm run test:site -- SITE_FOLDER SCREENSHOT_FOLDER");
mkdirSync(screenshots, { recursive: true });

const inside = pathToFileURL(`${site}/`).href;
const anchors = new Map();
const links = [];
const complaints = [];

await withBrowser(async (browser) => {
  const page = await browser.newPage();
  page.on("request", (request) => {
    const asked = request.url();
    if (!asked.startsWith(inside) && !asked.startsWith("data:")) complaints.push(`a request of ${asked}`);
  });
  page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.message}`));
  page.on("requestfailed", (request) => complaints.push(`${page.url()}: ${request.url()} is not there`));

  const files = readdirSync(site, { recursive: true }).filter((file) => file.endsWith(".html"));
  for (const file of files.sort()) {
    const url = pathToFileURL(join(site, file)).href;
    for (const width of [390, 1100, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(url);
      const [content, view] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      if (content > view) complaints.push(`${file}: ${content} px of content in ${view} px`);
    }
    const found = await page.evaluate(() => ({
      ids: [...document.querySelectorAll("[id]")].map((element) => element.id),
      links: [...document.querySelectorAll("a[href]")].map((a) => a.href),
    }));
    anchors.set(url, new Set(found.ids));
    for (const link of found.links) if (link.startsWith(inside)) links.push([file, link]);
  }

  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    for (const width of [390, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto(`${inside}index.html`);
      await page.screenshot({ path: join(screenshots, `site-${width}-${theme}.png`) });
    }
  }
});

for (const [file, link] of links) {
  const [to, anchor] = link.split("#");
  if (!existsSync(fileURLToPath(to))) complaints.push(`${file}: ${to} is not there`);
  else if (anchor && anchors.has(to) && !anchors.get(to).has(decodeURIComponent(anchor))) {
    complaints.push(`${file}: ${link} has no such heading`);
  }
}
assert.deepEqual([...new Set(complaints)], []);
assert.ok(anchors.size > 40, `${anchors.size} pages only`);
console.log(`ok: ${anchors.size} pages, ${links.length} internal links`);
