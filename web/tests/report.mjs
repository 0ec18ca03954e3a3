// Uses a report as a reader does: npm test -- REPORT.html [SCREENSHOT_FOLDER]
// The report has at least two configurations with two latency metrics, and one probe.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { run } from "./browser.mjs";

const [report, folder] = process.argv.slice(2);
if (!report) throw new Error("usage: npm test -- REPORT.html [SCREENSHOT_FOLDER]");
if (folder) mkdirSync(folder, { recursive: true });

const PLOT = "#overview .plot";

/** What a plot shows: its shapes, in no particular order. */
const drawing = (page, plot = PLOT) =>
  page.$$eval(`${plot} svg :is(path, text)`, (all) => all.map((shape) => ["d", "transform", "fill", "stroke"].map((name) => shape.getAttribute(name)) + shape.textContent).sort().join("\n"));
/** The texts of a plot, its ticks and labels, in no particular order of drawing. */
const texts = (page, plot = PLOT) => page.$$eval(`${plot} svg text`, (all) => all.map((text) => text.textContent).sort());
const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50))));
const rows = (page, table = "#figures") => page.$$eval(`${table} tbody tr`, (all) => all.map((row) => row.textContent));

async function screenshot(page, name, options = {}) {
  if (folder) await page.screenshot({ path: join(folder, `${name}.png`), ...options });
}

/** Comes near every plot, so that it is drawn. */
async function scrollThrough(page) {
  const height = await page.evaluate(() => document.documentElement.scrollHeight);
  for (let y = 0; y < height; y += 500) {
    await page.evaluate((y) => scrollTo(0, y), y);
    await settled(page);
  }
  await page.evaluate(() => scrollTo(0, 0));
  await settled(page);
}

const checks = {
  async "the first plot is drawn"(page) {
    const points = await page.$$eval(`${PLOT} svg path`, (all) => all.length);
    assert.ok(points > 3, `${points} shapes`);
    const ms = await page.evaluate(() => globalThis.firstPlotMs);
    console.log(`from navigation to the first plot: ${Math.round(ms)} ms`);
    await screenshot(page, "light-first");
  },

  async "another metric is another plot"(page) {
    const before = await drawing(page);
    const latency = page.getByLabel("Latency", { exact: true });
    const values = await latency.locator("option").evaluateAll((all) => all.map(({ value }) => value));
    const chosen = await latency.inputValue();
    const other = values.find((value) => value !== chosen);
    await latency.selectOption(other);
    await settled(page);
    assert.notEqual(await drawing(page), before);
    await latency.selectOption(chosen);
    await settled(page);
    assert.equal(await drawing(page), before);
  },

  async "another workload is another table"(page) {
    const workload = page.getByLabel("Workload", { exact: true });
    const before = [await drawing(page), await rows(page)];
    const count = await workload.locator("option").count();
    for (let index = count - 1; index >= 0; index--) {
      await workload.selectOption({ index });
      await settled(page);
      const text = await workload.locator("option").nth(index).textContent();
      assert.equal(await page.textContent("#figures caption"), `All figures of ${text}`);
    }
    assert.deepEqual([await drawing(page), await rows(page)], before);
  },

  async "a mode is switched off and on by keyboard"(page) {
    const before = await drawing(page);
    const shown = await page.$$eval("#controls .toggle[aria-pressed=true]", (all) => all.length);
    // The last one is a kernel's or a mode's that has measurements in some report, not in all.
    for (let index = 0; index < shown; index++) {
      const toggle = page.locator("#controls .toggle").nth(index);
      await toggle.focus();
      await page.keyboard.press("Space");
      await settled(page);
      assert.equal(await toggle.getAttribute("aria-pressed"), "false");
      const without = await drawing(page);
      await page.keyboard.press("Space");
      await settled(page);
      assert.equal(await drawing(page), before);
      if (without !== before) return;
    }
    assert.fail("no button changes the plot");
  },

  async "a plot is zoomed by button, key and wheel"(page) {
    await page.locator(PLOT).scrollIntoViewIfNeeded();
    const whole = await texts(page);
    const reset = page.getByRole("button", { name: "Reset the zoom: Latency against throughput" });
    const zooms = {
      button: () => page.getByRole("button", { name: "Zoom in: Latency against throughput" }).click(),
      key: async () => {
        await page.focus(PLOT);
        await page.keyboard.press("+");
      },
      wheel: async () => {
        await page.hover(PLOT);
        await page.keyboard.down("Control");
        await page.mouse.wheel(0, -400);
        await page.keyboard.up("Control");
      },
    };
    for (const [how, zoom] of Object.entries(zooms)) {
      await zoom();
      await settled(page);
      assert.notDeepEqual(await texts(page), whole, `by ${how}`);
      const still = await drawing(page);
      await page.focus(PLOT);
      await page.keyboard.press("ArrowLeft");
      await page.keyboard.press("ArrowLeft");
      await settled(page);
      assert.notEqual(await drawing(page), still, `moving after zooming by ${how}`);
      await reset.click();
      await settled(page);
      assert.deepEqual(await texts(page), whole, `reset after zooming by ${how}`);
    }
  },

  async "pointing at a point says its numbers"(page) {
    const box = await page.locator(PLOT).boundingBox();
    // Somewhere there is a point; the largest shapes are the points.
    const point = await page.$$eval(`${PLOT} svg path`, (all) => {
      const boxes = all.map((path) => path.getBoundingClientRect());
      const found = boxes.find(({ width, height }) => width > 8 && width < 20 && height > 8 && height < 20);
      return found && { x: found.x + found.width / 2, y: found.y + found.height / 2 };
    });
    assert.ok(point && box);
    await page.mouse.move(point.x, point.y);
    await page.waitForSelector(".tip strong");
    assert.match(await page.textContent(".tip"), /n=\d/);
    await screenshot(page, "light-tooltip");
    await page.mouse.move(0, 0);
  },

  async "percentiles and histograms take turns"(page) {
    await page.locator("#distributions").scrollIntoViewIfNeeded();
    await page.waitForSelector("#distributions figure:not(.off) .plot svg");
    assert.ok((await texts(page, "#distributions figure:not(.off) .plot")).some((text) => /^99(\.9)? %$/.test(text)));
    await screenshot(page, "light-percentiles");
    await page.getByRole("button", { name: "Histograms", exact: true }).click();
    await page.waitForSelector("#distributions figure:not(.off) .plot svg");
    assert.equal(await page.locator("#distributions figure:visible").count(), 1);
    await settled(page);
    await page.locator("#distributions").scrollIntoViewIfNeeded();
    await screenshot(page, "light-histograms");
  },

  async "the table is sorted by mouse and keyboard"(page) {
    const first = await rows(page);
    const heads = page.locator("#figures thead button");
    await heads.nth(2).click();
    assert.equal(await page.locator("#figures thead th").nth(2).getAttribute("aria-sort"), "ascending");
    const ascending = await rows(page);
    const medians = async () =>
      page.$$eval("#figures tbody tr", (all) =>
        all.flatMap((row) => {
          const text = row.children[2]?.querySelector("strong")?.textContent;
          return text ? [Number(text.replaceAll(",", ""))] : [];
        }));
    const sorted = await medians();
    assert.deepEqual(sorted, [...sorted].sort((a, b) => a - b));
    await heads.nth(2).focus();
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("#figures thead th").nth(2).getAttribute("aria-sort"), "descending");
    assert.deepEqual(await medians(), sorted.reverse());
    // What has no value is last in both directions.
    const bare = ascending.length - sorted.length;
    assert.deepEqual((await rows(page)).slice(-bare || ascending.length), bare > 0 ? ascending.slice(-bare) : []);
    await heads.nth(0).click();
    assert.deepEqual(await rows(page), first);
  },

  async "the table is filtered by typing"(page) {
    const before = await rows(page);
    const word = await page.$eval("#figures tbody th .name span", (name) => name.textContent.trim().split(/\s+/).at(-1));
    const filter = page.locator("#figures").getByLabel("Filter");
    await filter.focus();
    await page.keyboard.type(word);
    const found = await rows(page);
    assert.ok(found.length > 0 && found.length < before.length, `${found.length} of ${before.length}`);
    assert.ok(found.every((row) => row.toLowerCase().includes(word.toLowerCase())));
    assert.match(await page.textContent("#figures output"), new RegExp(`^${found.length} of `));
    await filter.fill("no such thing");
    assert.deepEqual(await rows(page), []);
    await filter.fill("");
    assert.deepEqual(await rows(page), before);
    await screenshot(page, "light-table");
  },

  async "every configuration without measurements has its reason"(page) {
    const bare = await page.evaluate(() => {
      const data = JSON.parse(document.getElementById("data").textContent);
      return data.groups[0].configurations.filter(({ metrics }) => metrics.length === 0).length;
    });
    const reasons = await page.$$eval("#figures tbody tr .reason", (all) => all.map((reason) => reason.textContent));
    assert.ok(reasons.length >= bare && reasons.every((reason) => reason.length > 8));
  },

  async "cells are filtered by what became of them"(page) {
    const data = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
    const completed = data.cells.filter(({ no_result }) => no_result === null).length;
    await page.locator("#cells").getByLabel("Status").selectOption("completed");
    assert.equal((await rows(page, "#cells")).length, Math.min(50, completed));
    const digest = data.cells.find(({ no_result }) => no_result === null).digest;
    await page.locator("#cells").getByLabel("Filter").fill(digest);
    assert.ok((await rows(page, "#cells")).every((row) => row.includes(digest)));
    await page.locator("#cells").getByLabel("Filter").fill("");
    await page.locator("#cells").getByLabel("Status").selectOption("");
  },

  async "every instant has a picture, with a curve for each configuration that was measured"(page) {
    const picture = page.locator("#instants .instants").first();
    await picture.scrollIntoViewIfNeeded();
    const curves = () => picture.evaluate((area) => area.shadowRoot.querySelectorAll("svg .dot").length);
    assert.ok((await curves()) >= 2, `${await curves()} curves`);
    await screenshot(page, "light-instants");
  },

  async "timelines are zoomed, if there are any"(page) {
    const timeline = page.locator("#worst .timeline").first();
    if ((await timeline.count()) === 0) {
      assert.match(await page.textContent("#worst"), /No timelines/);
      return;
    }
    await timeline.scrollIntoViewIfNeeded();
    await settled(page);
    const part = () => timeline.evaluate((area) => area.shadowRoot.querySelector("svg").getAttribute("viewBox"));
    const whole = await part();
    await screenshot(page, "light-timeline");
    await page.locator("#worst .zoom button").first().click();
    const zoomed = await part();
    assert.notEqual(zoomed, whole);
    await timeline.focus();
    await page.keyboard.press("ArrowRight");
    assert.notEqual(await part(), zoomed);
    await page.keyboard.press("0");
    assert.equal(await part(), whole);
    await page.hover("#worst .timeline");
    await page.keyboard.down("Control");
    await page.mouse.wheel(0, -300);
    await page.keyboard.up("Control");
    assert.notEqual(await part(), whole);
    await timeline.focus();
    await page.keyboard.press("0");
  },

  async "every button, choice and field has a name"(page) {
    const nameless = await page.$$eval("button, select, input, [role=group], [role=region]", (all) =>
      all.filter((one) => !(one.textContent.trim() || one.getAttribute("aria-label") || one.labels?.length)).map((one) => one.outerHTML));
    assert.deepEqual(nameless, []);
  },

  async "dark"(page) {
    const light = await drawing(page);
    await page.emulateMedia({ colorScheme: "dark" });
    await settled(page);
    assert.notEqual(await drawing(page), light);
    const brightness = await page.evaluate(() => Number(/\d+/.exec(getComputedStyle(document.body).backgroundColor)[0]));
    assert.ok(brightness < 60);
    await scrollThrough(page);
    await screenshot(page, "dark-first");
    await screenshot(page, "dark-whole", { fullPage: true });
    await page.emulateMedia({ colorScheme: "light" });
    await settled(page);
    await screenshot(page, "light-whole", { fullPage: true });
  },

  async "a phone"(page) {
    await page.setViewportSize({ width: 360, height: 740 });
    await settled(page);
    await scrollThrough(page);
    const [content, view] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(content <= view, `${content} px of content in ${view} px`);
    await screenshot(page, "phone-first");
    await screenshot(page, "phone-whole", { fullPage: true });
    await page.setViewportSize({ width: 1280, height: 800 });
    await settled(page);
  },

  async "paper"(page) {
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await settled(page);
    const hidden = await page.$$eval("figure, section", (all) => all.filter((one) => one.offsetHeight === 0).length);
    assert.equal(hidden, 0);
    const undrawn = await page.$$eval(".plot", (all) => all.filter((one) => !one.hidden && !one.querySelector("svg path")).length);
    assert.equal(undrawn, 0);
    const ink = await page.evaluate(() => getComputedStyle(document.body).color);
    assert.match(ink, /rgb\(31, 35, 40\)/);
    if (folder) await page.pdf({ path: join(folder, "print.pdf"), format: "A4", preferCSSPageSize: true });
    await page.emulateMedia({ media: "screen", colorScheme: "light" });
    await settled(page);
  },

  async "nothing is undefined or not a number"(page) {
    const text = await page.evaluate(() => document.body.innerText);
    assert.doesNotMatch(text, /\bNaN\b|\bundefined\b|\bInfinity\b|\[object/);
  },
};

await run(report, checks);
