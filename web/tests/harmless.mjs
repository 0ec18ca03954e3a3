// Opens reports that may say anything, chooses everything there is to choose, and sees that texts
// stay texts: npm run test:harmless -- REPORT.html...

import assert from "node:assert/strict";

import { open, withBrowser } from "./browser.mjs";

const reports = process.argv.slice(2);
if (reports.length === 0) throw new Error("usage: npm run test:harmless -- REPORT.html...");

await withBrowser(async (browser) => {
  for (const report of reports) {
    const { page, complaints } = await open(browser, report);
    const elements = () => page.$$eval("img, iframe, object, embed, link:not([rel=icon]), main script", (all) => all.length);
    for (const width of [360, 1280]) {
      await page.setViewportSize({ width, height: 900 });
      const selects = await page.locator("select").count();
      for (let at = 0; at < selects; at++) {
        const select = page.locator("select").nth(at);
        const options = (await select.count()) > 0 ? await select.locator("option").count() : 0;
        for (let index = 0; index < options; index++) {
          await select.selectOption({ index });
          const height = await page.evaluate(() => document.documentElement.scrollHeight);
          for (let y = 0; y < Math.min(height, 20_000); y += 800) {
            await page.evaluate((y) => scrollTo(0, y), y);
            await page.waitForTimeout(20);
          }
          assert.equal(await elements(), 0);
          const [content, view] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
          assert.ok(content <= view, `${content} px of content in ${view} px`);
          const text = await page.evaluate(() => document.body.innerText);
          assert.doesNotMatch(text, /\bNaN\b|\bundefined\b|\bInfinity\b|\[object/);
        }
      }
    }
    assert.deepEqual(complaints, []);
    console.log(`ok: ${report}`);
    await page.close();
  }
});
