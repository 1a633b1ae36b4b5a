/** The overview of a busy account in a real browser. */
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import { startBusyService } from "./busy_service.ts";
import { allLooks, desktop, looksFor, phone } from "./chromium.ts";
import { looksFine, openerOf, useBrowser } from "./world.ts";

useBrowser();

const world = shared(async () => {
  const service = await startBusyService(40);
  return { ...service, open: await openerOf(service) };
});

Deno.test("the overview is fine in light and dark, on desks and phones, opened and closed", async () => {
  for (const { scheme, viewport } of looksFor("overview")) {
    const { page, complaints, context } = await world().open({ scheme, viewport });
    // Colours and width are looked at in pairs: what differs between them is little.
    const isPair = (scheme === "light") === (viewport === desktop);
    const queries = isPair ? ["", "?range=24h&by=app", "?range=90d&by=key", "?from=x"] : [""];
    for (const query of queries) {
      await page.goto(`${world().baseUrl}/dashboard/overview${query}`);
      await looksFine(page, `${query} ${scheme}`);
    }
    for (const summary of await page.locator("main details > summary").all()) {
      await summary.click();
      // The one of the range covers others.
      if (await summary.evaluate((one) => one.classList.contains("button"))) {
        await looksFine(page, `range ${scheme}`);
        await summary.click();
      }
    }
    await looksFine(page, `opened ${scheme}`);
    assert.deepEqual(complaints, []);
    await context.close();
  }
});

Deno.test("a chart's figures show under the pointer, and lead to the calls behind them", async () => {
  const { page, complaints } = await world().open();
  await page.goto(`${world().baseUrl}/dashboard/overview?range=7d`);
  const chart = page.locator("figure:has(#requests-t)");
  await page.emulateMedia({ forcedColors: "active" });
  const colours = (selector: string) =>
    page.evaluate<string[]>(
      `[...document.querySelectorAll(${JSON.stringify(selector)})]
        .map((one) => getComputedStyle(one).backgroundColor)`,
    );
  const swatches = await colours("figure:has(#tokens-t) .swatch");
  assert.equal(new Set(swatches).size, 4, "the legend has the colours of the layers");
  for (const links of [".segments a", ".sidebar nav a", ".breakdown .tabs a"]) {
    const [current, others] = [`${links}[aria-current]`, `${links}:not([aria-current])`];
    assert.ok(!(await colours(others)).includes((await colours(current))[0]!), links);
  }
  await page.emulateMedia({ forcedColors: "none" });
  const { width } = (await chart.locator(".plot [role=img]").boundingBox())!;
  await chart.locator(".plot [role=img]").hover({ position: { x: width * 5.5 / 7, y: 40 } });
  const said = await chart.locator(".tooltip").innerText();
  const [day, ...figures] = await chart.locator("tbody tr").nth(5).locator("td").allTextContents();
  for (const one of [day!.trim(), ...figures]) {
    assert.ok(said.includes(one.trim()), `${one}: ${said}`);
  }
  // What was opened over the figures closes as menus do.
  const range = page.locator(".own-range");
  const isOpen = () => range.evaluate((one) => one.open);
  await range.locator("summary").click();
  await page.focus("#to");
  await page.keyboard.press("Escape");
  assert.equal(await isOpen(), false);
  assert.ok(await range.locator("summary").evaluate((one) => one.matches(":focus")));
  await range.locator("summary").click();
  await page.click("#from");
  assert.equal(await isOpen(), true);
  await page.click("h1");
  assert.equal(await isOpen(), false);
  await page.mouse.move(0, 0);
  assert.equal(await chart.locator(".tooltip").isVisible(), false);
  await chart.locator(".plot [role=img]").click({ position: { x: width * 5.5 / 7, y: 40 } });
  await page.waitForURL("**/dashboard/interactions?from=*");
  assert.deepEqual(complaints.filter((one) => !/status of 404/.test(one)), []);
});

Deno.test("without script the overview says the same, by keyboard", async () => {
  const { page } = await world().open({ scripts: false });
  await page.goto(`${world().baseUrl}/dashboard/overview`);
  const total = await page.locator("figure:has(#requests-t) .headline").innerText();
  await page.locator("figure:has(#requests-t) summary").focus();
  await page.keyboard.press("Enter");
  const rows = await page.locator("figure:has(#requests-t) tbody tr").all();
  assert.equal(rows.length, 30);
  let sum = 0;
  for (const row of rows) {
    const cells = await row.locator("td + td").allTextContents();
    sum += cells.reduce((all, cell) => all + Number(cell.replaceAll(",", "")), 0);
  }
  assert.equal(sum.toLocaleString("en-US"), total);
  await page.locator(".own-range summary").focus();
  await page.keyboard.press("Enter");
  await page.fill("#from", "2026-01-01");
  await page.fill("#to", "2026-01-02");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/dashboard/overview?from=2026-01-01&to=2026-01-02&by=model");
  assert.ok(await page.isVisible("text=No calls on these days"));
});

Deno.test("a long name among those who spent most takes one line", async () => {
  const user = "u".repeat(200);
  const call = await world().post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    messages: [{ role: "user", content: "Hello" }],
    user,
  });
  await call.body?.cancel();
  const { page } = await world().open();
  await page.goto(`${world().baseUrl}/dashboard/overview`);
  const link = page.locator(".standing a[href*='uuu']");
  assert.equal(await link.getAttribute("title"), user);
  for (const size of [desktop, phone]) {
    await page.setViewportSize(size);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), size.width);
    const { height, width } = (await link.boundingBox())!;
    assert.ok(height < 30 && width < 400, `${width} x ${height}`);
  }
  // All columns are in sight; on tablets there are fewer.
  for (const width of [1280, 1240, 1024, 961, 768]) {
    await page.setViewportSize({ width, height: 800 });
    const spare = await page.$eval(".breakdown .table", (one) => one.clientWidth - one.scrollWidth);
    assert.equal(spare, 0, `${width} px`);
  }
  await page.setViewportSize({ width: 961, height: 800 });
  const name = (await page.locator(".breakdown td.name").first().boundingBox())!;
  assert.ok(name.width <= 250, `the name takes ${name.width} px`);
  // The tooltip of a chart shortens it, too, and stays within the screen.
  await page.goto(`${world().baseUrl}/dashboard/overview?range=24h&by=user`);
  const plot = page.locator("figure .plot [role=img]").first();
  for (const size of [desktop, { width: 320, height: 740 }]) {
    await page.setViewportSize(size);
    const heights = await page.$$eval(
      ".legend .muted",
      (all) => all.map((one) => one.getBoundingClientRect().height),
    );
    assert.ok(Math.max(...heights) < 24, `an amount of a legend is broken: ${heights}`);
    const { width } = (await plot.boundingBox())!;
    for (const share of [0.02, 0.45, 0.98]) {
      await plot.hover({ position: { x: width * share, y: 40 } });
      const rights = await page.$$eval(
        ".tooltip:not([hidden]) strong",
        (all) => all.map((one) => one.getBoundingClientRect().right),
      );
      assert.ok(Math.max(...rights) <= size.width, `${size.width}, ${share}: ${rights}`);
      assert.equal(await page.evaluate("document.documentElement.scrollWidth"), size.width);
    }
  }
});

if (allLooks) {
  Deno.test("the task of screenshots makes a picture of every page", async () => {
    const folder = await Deno.makeTempDir({ prefix: "gateway-pictures-" });
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["task", "screenshots", folder],
      stdout: "null",
      stderr: "piped",
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
    assert.ok(names.length > 4 * 30, names.join(" "));
    for (const name of names) {
      const { size } = await Deno.stat(`${folder}/${name}`);
      assert.ok(size > 5_000, `${name} has ${size} bytes`);
    }
    await Deno.remove(folder, { recursive: true });
  });
}
