// Opens a report in Debian's chromium, with everything observed that it should not do.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { chromium } from "playwright-core";

const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];

/** Calls back with a browser whose profile is new, and removes it afterwards. */
export async function withBrowser(act, options = {}) {
  const profile = mkdtempSync(join(tmpdir(), "preemptlab-web-"));
  const browser = await chromium.launchPersistentContext(profile, {
    executablePath: "/usr/bin/chromium",
    args: FLAGS,
    viewport: { width: 1280, height: 800 },
    ...options,
  });
  try {
    return await act(browser);
  } finally {
    await browser.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

/** Loads a file; `complaints` grows while anything happens that must not. */
export async function open(browser, file) {
  const url = pathToFileURL(resolve(file)).href;
  const complaints = [];
  const page = await browser.newPage();
  page.on("request", (request) => {
    const asked = request.url();
    if (asked !== url && asked !== "data:,") complaints.push(`a request of ${asked}`);
  });
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) complaints.push(`the console says: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`an error: ${error.message}`));
  page.on("dialog", (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  // The observer is there before the page is: it notes when the first plot is in the document.
  await page.addInitScript(() => {
    new MutationObserver((_, observer) => {
      if (!document.querySelector(".plot svg path, #map td")) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => { globalThis.firstPlotMs = performance.now(); }));
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(url);
  await page.waitForSelector("footer", { timeout: 10_000 }).catch((error) => complaints.push(error.message));
  return { page, complaints };
}

/** Loads a file, makes all checks of its page, and fails where one does or anything happens that must not. */
export async function run(file, checks) {
  let failed = 0;
  await withBrowser(async (browser) => {
    const { page, complaints } = await open(browser, file);
    for (const [name, check] of Object.entries(checks)) {
      const before = complaints.length;
      try {
        await check(page);
        assert.deepEqual(complaints.slice(before), []);
        console.log(`ok: ${name}`);
      } catch (error) {
        failed += 1;
        console.log(`FAILED: ${name}\n${error.stack ?? error}`);
      }
    }
    if (complaints.length > 0) {
      failed += 1;
      console.log(`FAILED: a quiet page\n${complaints.join("\n")}`);
    }
  });
  process.exitCode = failed === 0 ? 0 : 1;
}
