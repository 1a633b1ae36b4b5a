/** The pages on interactions in a real browser. */
import assert from "@std/assert";
import type { Page, Route } from "playwright-core";
import { phone, pictureWidths, schemesFor } from "./chromium.ts";
import { makeSampleCalls } from "./sample_calls.ts";
import { looksFine, startAsOwner, useBrowser } from "./world.ts";

useBrowser();

const list = "/dashboard/interactions";
const liveRequests = /\/interactions\/newest/;

Deno.test("a call with a key made just now appears by itself, and opens", async () => {
  await using world = await startAsOwner();
  const { service, page } = world;
  await page.goto(`${service.baseUrl}/dashboard/keys/new`);
  await page.fill("#name", "of the browser");
  await page.click("main form button[type=submit]");
  await page.waitForURL("**/created");
  const key = await page.textContent("#key-value") ?? "";
  const call = async (content: string) => {
    const answer = await service.post("/chat/v1/chat/completions", {
      model: "vendor-b/gpt-4.1",
      messages: [{ role: "user", content }],
      stream: true,
    }, { authorization: `Bearer ${key}` });
    assert.equal(answer.status, 200);
    await answer.text();
    return answer.headers.get("x-transaction-id")!;
  };
  await page.goto(service.baseUrl + list);
  await page.waitForSelector("text=No calls yet");
  await page.evaluate("window.stillThere = true");
  const first = await call("Hello from the first");
  await page.waitForSelector(`tr[data-id="${first}"]`);
  assert.equal(await page.isVisible("text=No calls yet"), false);
  const second = await call("Hello from the second");
  await page.waitForSelector(`tr[data-id="${second}"]`);
  assert.deepEqual(await idsOf(page), [second, first]);
  assert.equal(await page.evaluate("window.stillThere"), true, "nothing was loaded again");
  assert.deepEqual(world.complaints, []);
  // While the service is away the page says so, in words.
  await page.context().setOffline(true);
  await page.waitForSelector(".live-switch:has-text('Reconnecting')");
  await page.context().setOffline(false);
  await page.waitForSelector(".live-switch:has-text('Live')");
  // Whoever switches it off keeps what is there; a request that fails afterwards changes nothing.
  const asked = Promise.withResolvers<Route>();
  await page.route(liveRequests, (route) => asked.resolve(route));
  const request = await asked.promise;
  await page.click(".live-switch");
  const failed = page.waitForEvent("requestfailed");
  await request.abort();
  await failed;
  await page.evaluate("new Promise((done) => setTimeout(done))");
  assert.equal(await page.getAttribute(".live-switch", "aria-pressed"), "false");
  assert.equal((await page.innerText(".live-switch")).trim(), "Live");
  await page.unroute(liveRequests);
  world.complaints.length = 0;

  await page.click(`tr[data-id="${second}"] .row-link`);
  await page.waitForURL(`**${list}/${second}`);
  await page.waitForSelector("text=Hello from the second");
  await page.click("summary:has-text('Request')");
  assert.match(await page.textContent("pre[aria-label=Request]") ?? "", /"stream": true/);
  await page.click("a[title='All calls with this api key']");
  await page.waitForSelector(".chip:has-text('of the browser')");
  assert.deepEqual((await idsOf(page)).length, 2);
  await page.click(`tr[data-id="${first}"] .row-link`);
  await page.click(".title-row >> text=Delete");
  await page.click("text=Delete this interaction");
  await page.waitForSelector("text=The interaction and everything derived from it were deleted");
  assert.deepEqual(await idsOf(page), [second]);
  assert.deepEqual(world.complaints, []);
});

Deno.test("a page that is live says when its session has ended, and leads to sign-in and back", async () => {
  await using world = await startAsOwner();
  const { service, page } = world;
  const says = "[role=alert]:has-text('Your session has ended')";
  const cookies = await page.context().cookies();
  await page.goto(service.baseUrl + list);
  await page.context().clearCookies();
  await page.waitForSelector(says);
  assert.equal(await page.getAttribute(".live-switch", "aria-pressed"), "false");
  await page.click(`${says} >> a`);
  await page.waitForURL(`**/sign-in?return_to=${encodeURIComponent(list)}`);
  // The script of what is under way says it, too.
  await page.context().addCookies(cookies);
  await page.goto(`${service.baseUrl}/dashboard/keys`);
  await page.evaluate("document.querySelector('#content h1').dataset.live = ''");
  await page.context().clearCookies();
  await page.addScriptTag({ url: "/dashboard/assets/refresh.js" });
  await page.waitForSelector(says);
  assert.deepEqual(world.complaints, []);
});

Deno.test("the total above a filtered list counts the rows that have come since", async () => {
  await using world = await startAsOwner();
  const { service, page } = world;
  await page.goto(`${service.baseUrl}${list}?user=pat`);
  await page.waitForSelector("text=Nothing matches");
  for (const total of ["1 call", "2 calls"]) {
    const answer = await service.post("/chat/v1/chat/completions", {
      model: "vendor-b/gpt-4.1",
      messages: [{ role: "user", content: "Hello" }],
      user: "pat",
    });
    await answer.text();
    await page.waitForSelector(`.list-total:has-text("${total},")`);
  }
  assert.equal((await idsOf(page)).length, 2);
  assert.deepEqual(world.complaints, []);
});

Deno.test("new rows move nothing but the rows, and who reads further down stays there", async () => {
  await using world = await startAsOwner();
  const { service, page } = world;
  const call = () =>
    service.post("/chat/v1/chat/completions", {
      model: "vendor-b/gpt-4.1",
      messages: [{ role: "user", content: "Hello" }],
    }).then((answer) => answer.text());
  for (let n = 0; n < 60; n++) await call();
  await page.goto(service.baseUrl + list);
  const frameOf = () => page.locator(".calls .table").boundingBox();
  const widths = () =>
    page.$$eval(".calls th", (cells) => cells.map((cell) => cell.getBoundingClientRect().width));
  const before = { frame: await frameOf(), widths: await widths() };
  await page.locator(".calls .table").evaluate((frame) => frame.scrollTop = 400);
  const seen = await page.locator(".calls tbody tr").nth(14).evaluate((row) => ({
    id: row.dataset.id,
    top: row.getBoundingClientRect().top,
  }));
  const [newest] = await idsOf(page);
  await call();
  await page.waitForSelector(`tr.row-new + tr[data-id="${newest}"]`);
  assert.deepEqual({ frame: await frameOf(), widths: await widths() }, before);
  const top = await page.locator(`tr[data-id="${seen.id}"]`).evaluate((row) =>
    row.getBoundingClientRect().top
  );
  assert.ok(Math.abs(top - seen.top) <= 1, `the row moved by ${top - seen.top} pixels`);
  assert.equal((await idsOf(page)).length, 50);
  assert.deepEqual(world.complaints, []);
});

Deno.test("large figures, long words and names from right to left are whole on a laptop and on a phone", async () => {
  await using world = await startAsOwner();
  const { service, page } = world;
  const [user, session, cohort] = ["u".repeat(120), "s".repeat(120), "c".repeat(120)];
  const call = async (content: string, of = { user, session }) => {
    const answer = await service.post("/chat/v1/chat/completions", {
      model: "vendor-b/gpt-4.1",
      messages: [{ role: "user", content: `/// COHORT ${cohort}\n${content}` }],
      user: of.user,
    }, { "x-session-id": of.session });
    await answer.text();
    return answer.headers.get("x-transaction-id")!;
  };
  await call("x".repeat(600_000));
  const long = await call(`https://example.com/${"a".repeat(300)}`);
  for (const width of [1280, 1000]) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(service.baseUrl + list);
    assert.deepEqual((await idsOf(page)).length, 2);
    const cells = await page.$$eval(
      "td.number",
      (all) =>
        all.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent),
    );
    assert.deepEqual(cells, [], `cut at ${width}`);
  }
  const names = ["shop-assistant / recommend", "customer-31 / visit-1795916016"];
  await call("/// APP shop-assistant\n/// FLOW recommend\nHello", {
    ...{ user: "customer-31", session: "visit-1795916016" },
  });
  for (const width of [1920, 1000]) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(service.baseUrl + list);
    // Older calls, of which the test has none, have longer times.
    await page.$$eval("td time", (all) => all.forEach((one) => one.textContent = "23 hours ago"));
    const cells = await page.locator("tbody tr").first().locator("td").evaluateAll((all) =>
      all.map(({ title, scrollWidth, clientWidth, textContent }) => (
        { title, text: textContent, isCut: scrollWidth > clientWidth }
      ))
    );
    assert.deepEqual(cells.slice(3, 5).map(({ title }) => title), names);
    // On a narrow screen the tooltip has what doesn't fit.
    const cut = cells.filter(({ isCut, title }) => isCut && (width === 1920 || title === ""));
    assert.deepEqual(cut, [], `cut at ${width}`);
  }
  const hebrew = await call("/// APP אבג\n/// FLOW דהו\nשלום (4711)?");
  await call(`/// APP ראש${" אבג".repeat(40)}\nHello`);
  await assertRightToLeft(page, service.baseUrl + list, hebrew);
  await page.setViewportSize(phone);
  const paths = [
    `${list}/${long}`,
    `${list}?user=${user}`,
    `/dashboard/session?id=${session}`,
    `/dashboard/cohorts/show?id=${cohort}`,
  ];
  for (const path of paths) {
    await page.goto(service.baseUrl + path);
    assert.equal(await page.evaluate("document.documentElement.scrollWidth"), phone.width, path);
  }
});

Deno.test("after a step back the form has the filters of the list that is shown", async () => {
  await using world = await startAsOwner();
  const { service, page } = world;
  await page.goto(service.baseUrl + list);
  await page.selectOption("select[name=vendor]", "vendor-c");
  await page.fill("input[name=q]", "order");
  await page.click("text=Apply");
  await page.waitForURL("**vendor=vendor-c**");
  await page.goBack();
  assert.equal(page.url(), service.baseUrl + list);
  assert.equal(await page.inputValue("select[name=vendor]"), "");
  assert.equal(await page.inputValue("input[name=q]"), "");
});

Deno.test("without script filters, pages and the reload work", async () => {
  await using world = await startAsOwner();
  const { service } = world;
  await makeSampleCalls(service);
  const { page } = await world.open({ scripts: false });
  await page.goto(service.baseUrl + list);
  assert.equal(await page.isVisible(".live-switch"), false);
  await page.click("text=Reload");
  await page.fill("#filter-q", "lyon");
  await page.keyboard.press("Enter");
  await page.waitForURL("**?q=lyon");
  assert.equal((await idsOf(page)).length, 1);
  await page.click("summary:has-text('More filters')");
  await page.fill("#filter-flow", "planning");
  await page.click("text=Apply filters");
  await page.waitForURL("**?q=lyon&flow=planning");
  await page.click(".chip:has-text('lyon') a");
  await page.waitForURL("**?flow=planning");
  assert.equal((await idsOf(page)).length, 1);
});

for (const scheme of schemesFor("axe, the pages on interactions")) {
  Deno.test(`axe finds no violation on the pages on interactions, ${scheme}`, async () => {
    await using world = await startAsOwner(scheme);
    const { service, page } = world;
    await page.goto(service.baseUrl + list);
    await looksFine(page, "empty list");
    const calls = await makeSampleCalls(service);
    const paths = [
      list,
      `${list}?q=order&app=shop&status=failed&cost_min=much`,
      `${list}?model=none`,
      ...Object.values(calls).map((id) => `${list}/${id}`),
      `${list}/${calls.tools}/delete`,
    ];
    for (const path of paths) {
      await page.goto(service.baseUrl + path);
      await page.$$eval("main details", (all) => all.forEach((one) => one.open = true));
      await looksFine(page, path);
    }
    const small = await world.open({ viewport: phone, scheme });
    for (const path of [list, `${list}/${calls.picture}`]) {
      await small.page.goto(service.baseUrl + path);
      await looksFine(small.page, `${path} on a phone`);
      const widths = await pictureWidths(small.page);
      assert.ok(widths.every((one) => one > 100), `${path}: ${widths}`);
      const width = await small.page.evaluate("document.documentElement.scrollWidth");
      assert.equal(width, 390, `${path} is wider than a phone`);
    }
    assert.deepEqual([...world.complaints, ...small.complaints], []);
  });
}

/** Ids of the rows that the page shows. */
async function idsOf(page: Page): Promise<string[]> {
  return await page.$$eval("tr[data-id]", (rows) => rows.map((row) => row.dataset.id ?? ""));
}

/** A call with names and a question in Hebrew is shown in the order in which it is read. */
async function assertRightToLeft(page: Page, address: string, id: string): Promise<void> {
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.goto(address);
  const [long, short] = await page.locator("tbody td:nth-child(4)").all();
  const { x, width } = (await long!.boundingBox())!;
  assert.ok(await leftOf(page, "tbody td", "ראש") < x + width, "a name's beginning is shown");
  assert.equal(await short!.innerText(), "אבג / דהו");
  assert.ok(
    await leftOf(page, "tbody tr:nth-child(2) td", "אבג") < await leftOf(page, "tbody td", "דהו"),
  );
  await page.fill("#filter-q", "שלום");
  const direction = `getComputedStyle(document.querySelector("#filter-q")).direction`;
  assert.equal(await page.evaluate(direction), "rtl");
  await page.goto(`${address}/${id}`);
  assert.ok(await leftOf(page, ".words", "?") < await leftOf(page, ".words", "שלום"));
}

/** Returns where a text within such an element is on the screen, from the left. */
async function leftOf(page: Page, selector: string, text: string): Promise<number> {
  const find = `function (selector, text) {
    for (const one of document.querySelectorAll(selector)) {
      const nodes = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
      while (nodes.nextNode()) {
        const node = nodes.currentNode;
        const at = node.data.indexOf(text);
        if (at < 0) continue;
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + text.length);
        return range.getBoundingClientRect().left;
      }
    }
  }`;
  const left = await page.evaluate(
    `(${find})(${JSON.stringify(selector)}, ${JSON.stringify(text)})`,
  );
  assert.equal(typeof left, "number", `${text} isn't shown`);
  return left as number;
}
