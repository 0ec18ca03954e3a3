// Uses the page of an atlas as a reader does: npm run test:atlas -- ATLAS.html [SCREENSHOT_FOLDER]
// The atlas has both classes, a load that failed everywhere, and several configurations, as the example atlas_page
// makes it: atlas_page made-up 30 16 8.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { run } from "./browser.mjs";

const [atlas, folder] = process.argv.slice(2);
if (!atlas) throw new Error("usage: npm run test:atlas -- ATLAS.html [SCREENSHOT_FOLDER]");
if (folder) mkdirSync(folder, { recursive: true });

const settled = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50))));
const data = (page) => page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
const names = (page) => page.$$eval("#map tbody th", (all) => all.map((head) => head.textContent));
/** The cells as they look, row by row in the order of the loads' names. */
const looks = (page) =>
  page.$$eval("#map tbody tr", (rows) =>
    rows.map((row) => row.querySelector("th").textContent + [...row.querySelectorAll("td")].map((cell) => `${cell.className}:${cell.textContent}`)).sort());
const cell = (page, load, column) => page.locator(`#map tr[data-load="${load}"] td`).nth(column);
const title = (page) => page.textContent("#detail h3");
const choose = (page, name) => page.getByRole("button", { name, exact: true }).click();

async function screenshot(page, name, options = {}) {
  if (folder) await page.screenshot({ path: join(folder, `atlas-${name}.png`), ...options });
}

const checks = {
  async "the map has a cell for each load and configuration"(page) {
    const { loads, columns } = await data(page);
    assert.equal(await page.locator("#map tbody td").count(), loads.length * columns.length);
    const kernels = await page.$$eval("#map thead tr:first-child th:not(.corner)", (all) => all.map((head) => [head.textContent, head.colSpan]));
    assert.equal(kernels.reduce((sum, [, span]) => sum + span, 0), columns.length);
    assert.equal(kernels[0][0], columns[0].kernel);
    console.log(`from navigation to the map: ${Math.round(await page.evaluate(() => globalThis.firstPlotMs))} ms`);
    await screenshot(page, "light-first");
  },

  async "the longest section is chosen at first"(page) {
    const { p, n, loads, columns } = await data(page);
    const longest = p.ns.map((ns, at) => Math.max(ns ?? -1, n.ns[at] ?? -1));
    const at = longest.indexOf(Math.max(...longest));
    const column = columns[at % columns.length];
    const of = `${loads[Math.floor(at / columns.length)]} under ${column.kernel} ${column.rest}`;
    assert.ok((await title(page)).startsWith(of), `${await title(page)} is not ${of}`);
    assert.equal((await names(page))[0], loads[Math.floor(at / columns.length)]);
  },

  async "a click shows the timeline, the stack, the commands and the other configurations"(page) {
    const { loads, columns, p, texts } = await data(page);
    await cell(page, 1, 0).click();
    assert.equal(await title(page), `${loads[1]} under ${columns[0].kernel} ${columns[0].rest}, ${columns[0].cpus} CPU`);
    const own = columns.length;
    const section = page.getByLabel("Class P", { exact: true });
    assert.ok((await section.textContent()).includes(texts[p.function[own]]));
    const details = await page.evaluate((own) => JSON.parse(document.getElementById("details").textContent).p[own], own);
    const parts = (details.length - 6 - details[5]) / 3;
    assert.equal(await section.locator(".part").count(), parts);
    assert.equal(await section.locator("details tbody tr").count(), parts);
    const widths = await section.locator(".part").evaluateAll((all) => all.map((part) => part.getBoundingClientRect().width));
    const lengths = Array.from({ length: parts }, (_, part) => details[6 + details[5] + 3 * part]);
    assert.equal(widths.indexOf(Math.max(...widths)), lengths.indexOf(Math.max(...lengths)));
    assert.match(await section.textContent(), / < do_syscall_64 < /);
    const commands = await page.locator("#detail .command").allTextContents();
    const words = `'${columns[0].kernel} ${columns[0].rest} ${loads[1]} 1 CPU #1'`;
    assert.deepEqual(commands, [
      `preemptlab explain runs/atlas atlas --cell ${words}`,
      `preemptlab explain runs/atlas trace --out trace.pftrace --cell ${words}`,
    ]);
    assert.equal(await page.locator("#detail .elsewhere tbody tr").count(), columns.length);
    await page.locator("#detail").scrollIntoViewIfNeeded();
    await screenshot(page, "light-detail");
  },

  async "pointing at a cell says its longest sections"(page) {
    const { columns, p, texts } = await data(page);
    await cell(page, 1, 0).hover();
    assert.match(await cell(page, 1, 0).getAttribute("title"), new RegExp(`^(N .*\n)?P [0-9.,]+ (ns|µs|ms) in ${texts[p.function[columns.length]]}`));
  },

  async "another configuration is one click away"(page) {
    const { columns } = await data(page);
    await page.locator("#detail .elsewhere button").nth(3).click();
    assert.match(await title(page), new RegExp(`${columns[3].cpus} CPUs$`));
    assert.equal(await page.locator("#map [aria-selected=true]").count(), 1);
  },

  async "P, N and both are different maps"(page) {
    const { p, n } = await data(page);
    const both = await looks(page);
    await choose(page, "P");
    const count = () => page.locator('#map td[class^="b"]:not(.blank)').count();
    assert.equal(await count(), p.ns.filter((ns) => ns !== null).length);
    const of_p = await looks(page);
    await screenshot(page, "light-p");
    await choose(page, "N");
    assert.equal(await count(), n.ns.filter((ns) => ns !== null).length);
    assert.notDeepEqual(await looks(page), of_p);
    await choose(page, "both");
    assert.deepEqual(await looks(page), both);
  },

  async "a cell that failed tells its reason"(page) {
    const { reasons, texts, measured } = await data(page);
    const failed = measured.indexOf(0);
    const { columns } = await data(page);
    await cell(page, Math.floor(failed / columns.length), failed % columns.length).click();
    assert.ok((await page.textContent("#detail")).includes(texts[reasons[failed]]));
    assert.equal(await page.locator("#detail .part").count(), 0);
    const hatched = await page.locator("#map td.failed").count();
    assert.equal(hatched, measured.filter((count) => count === 0).length);
  },

  async "the filter finds loads and functions"(page) {
    const all = await names(page);
    const filter = page.locator("#controls").getByLabel("Filter");
    await filter.fill("fork");
    assert.deepEqual([...(await names(page))].sort(), all.filter((name) => name.includes("fork")).sort());
    const { p, n, texts, columns, loads } = await data(page);
    const name = texts[p.function[0]];
    await filter.fill(name.toUpperCase());
    const has = (load) => loads[load].includes(name) || columns.some((_, column) => [p, n].some(({ function: of, ns }) => {
      const at = load * columns.length + column;
      return ns[at] !== null && texts[of[at]].includes(name);
    }));
    assert.deepEqual([...(await names(page))].sort(), loads.filter((_, load) => has(load)).sort());
    assert.equal(await cell(page, 0, 0).evaluate((own) => own.classList.contains("faded")), false);
    assert.ok((await page.locator("#map td.faded").count()) > 0);
    await screenshot(page, "light-filter");
    await filter.fill("no such thing");
    assert.deepEqual(await names(page), []);
    await filter.fill("");
    assert.deepEqual(await names(page), all);
    assert.equal(await page.locator("#map td.faded").count(), 0);
  },

  async "loads are sorted by name, by the plan and by a difference"(page) {
    const { loads, p, n, columns } = await data(page);
    const by = page.getByLabel("Loads by", { exact: true });
    await by.selectOption("name");
    assert.deepEqual(await names(page), [...loads].sort());
    await by.selectOption("plan");
    assert.deepEqual(await names(page), loads);
    await by.selectOption("difference");
    await page.getByLabel("of", { exact: true }).selectOption("2");
    await page.getByLabel("to", { exact: true }).selectOption("0");
    const ns = (load, column) => Math.max(...[p, n].map((of) => of.ns[load * columns.length + column] ?? -1));
    const differences = (await names(page)).map((name) => {
      const load = loads.indexOf(name);
      return ns(load, 2) < 0 || ns(load, 0) < 0 ? -Infinity : ns(load, 2) - ns(load, 0);
    });
    assert.deepEqual(differences, [...differences].sort((a, b) => b - a));
    await screenshot(page, "light-difference");
    await by.selectOption("longest");
  },

  async "the map is walked by keyboard"(page) {
    const [first, second] = await names(page);
    const all = await data(page);
    await cell(page, all.loads.indexOf(first), 0).click();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowDown");
    const focused = () => page.evaluate(() => [document.activeElement.parentElement.querySelector("th")?.textContent, document.activeElement.cellIndex]);
    assert.deepEqual(await focused(), [second, 2]);
    await page.keyboard.press("End");
    assert.deepEqual(await focused(), [second, all.columns.length]);
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    assert.ok((await title(page)).startsWith(`${second} under`));
    assert.equal(await page.evaluate(() => document.activeElement.tagName), "H3");
    await page.keyboard.press("Escape");
    assert.deepEqual(await focused(), [second, 1]);
    assert.equal(await page.locator("#map td[tabindex]").count(), 1);
  },

  async "heads stay while the map is scrolled"(page) {
    await page.locator(".map").evaluate((map) => map.scrollTo(60, 200));
    await settled(page);
    const [map, corner, head] = await page.evaluate(() => [".map", ".map .corner", ".map tbody tr:nth-child(14) th"].map((one) => {
      const { left, top } = document.querySelector(one).getBoundingClientRect();
      return { left, top };
    }));
    assert.ok(Math.abs(corner.top - map.top) < 3 && Math.abs(corner.left - map.left) < 3);
    assert.ok(Math.abs(head.left - map.left) < 3);
    await page.locator(".map").evaluate((map) => map.scrollTo(0, 0));
  },

  async "a function marks its cells"(page) {
    const { sections } = await data(page);
    assert.equal(await page.locator("#functions tbody tr").count(), Math.min(50, sections.length));
    await page.locator("#functions tbody button").first().click();
    const marked = await page.locator("#map td.marked").count();
    assert.ok(marked > 0);
    assert.match(await page.textContent("#functions .tools + output"), new RegExp(`of ${marked} cell`));
    await page.locator("#functions").scrollIntoViewIfNeeded();
    await screenshot(page, "light-functions");
    await page.locator("#functions tbody button").first().click();
    assert.equal(await page.locator("#map td.marked").count(), 0);
  },

  async "the table has a column for each configuration on demand"(page) {
    const { columns } = await data(page);
    const heads = () => page.locator("#functions thead th").count();
    const few = await heads();
    const all = page.getByLabel("a column for each configuration");
    await all.check();
    assert.equal(await heads(), few + columns.length);
    await all.uncheck();
    await page.locator("#functions").getByLabel("Class").selectOption("n");
    const classes = await page.$$eval("#functions tbody tr", (rows) => rows.map((row) => row.children[1].textContent));
    assert.ok(classes.length > 0 && classes.every((name) => name === "N"));
    await page.locator("#functions").getByLabel("Class").selectOption("");
  },

  async "every button, choice and field has a name"(page) {
    const nameless = await page.$$eval("button, select, input, [role=group], [role=region]", (all) =>
      all.filter((one) => !(one.textContent.trim() || one.getAttribute("aria-label") || one.labels?.length)).map((one) => one.outerHTML));
    assert.deepEqual(nameless, []);
  },

  async "dark"(page) {
    const color = () => page.locator("#map td.b9").first().evaluate((own) => getComputedStyle(own).backgroundColor);
    const light = await color();
    await page.emulateMedia({ colorScheme: "dark" });
    assert.notEqual(await color(), light);
    await screenshot(page, "dark-first");
    await screenshot(page, "dark-whole", { fullPage: true });
    await page.emulateMedia({ colorScheme: "light" });
    await screenshot(page, "light-whole", { fullPage: true });
  },

  async "a phone"(page) {
    for (const width of [360, 390]) {
      await page.setViewportSize({ width, height: 740 });
      await settled(page);
      const [content, view] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      assert.ok(content <= view, `${content} px of content in ${view} px`);
    }
    await screenshot(page, "phone-first");
    await screenshot(page, "phone-whole", { fullPage: true });
    await page.emulateMedia({ colorScheme: "dark" });
    await screenshot(page, "phone-dark", { fullPage: true });
    await page.emulateMedia({ colorScheme: "light" });
    await page.setViewportSize({ width: 1280, height: 800 });
  },

  async "paper"(page) {
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    await settled(page);
    const [map, table] = await page.evaluate(() => [".map", ".map table"].map((one) => document.querySelector(one).getBoundingClientRect().height));
    assert.ok(map >= table, "the whole map is on paper");
    const ink = await page.evaluate(() => getComputedStyle(document.body).color);
    assert.match(ink, /rgb\(31, 35, 40\)/);
    if (folder) await page.pdf({ path: join(folder, "atlas.pdf"), format: "A4", preferCSSPageSize: true });
    await page.emulateMedia({ media: "screen", colorScheme: "light" });
  },

  async "nothing is undefined or not a number"(page) {
    const text = await page.evaluate(() => document.body.innerText);
    assert.doesNotMatch(text, /\bNaN\b|\bundefined\b|\bInfinity\b|\[object/);
  },
};

await run(atlas, checks);
