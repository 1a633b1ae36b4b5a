/** Questions that people come with, answered from the overview on, click by click. */
import assert from "@std/assert";
import type { Locator, Page } from "playwright-core";
import { fillDemo } from "../../demo/life/fill.ts";
import { parseUsd } from "../../src/base/money.ts";
import type { Database } from "../../src/database/database.ts";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { startDashboard } from "../dashboard/world.ts";
import { readCsv } from "../support/csv.ts";
import { createMigrated } from "../support/databases.ts";
import { isPostgresPreferred, shared } from "../support/service.ts";
import { openerOf, useBrowser } from "./world.ts";

useBrowser();

/** Two months of the demo's calls, whose charges are in the ledger; its database is open to us. */
const world = shared(async () => {
  const postgres = isPostgresPreferred() ? await createMigrated() : undefined;
  const service = await startDashboard({
    ...{ vendors: true, onFirstStart: fillDemo },
    env: postgres ? { DATABASE_URL: postgres.url } : {},
  });
  const database = postgres && await openPostgres(postgres.url);
  const stop = async () => {
    await database?.close();
    await service.stop();
    await postgres?.drop();
  };
  return { ...service, database, open: await openerOf(service), stop };
});

interface Month {
  readonly from: Date;
  readonly to: Date;
}

function monthBefore(now: Date): Month {
  return {
    from: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1, 1)),
    to: new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1)),
  };
}

/** What the ledger charged for a month's calls, by a column of theirs: no sum of ours is read. */
async function ledgerBy(
  database: Database,
  column: "app" | "user_id",
  month: Month,
): Promise<Map<string, bigint>> {
  const rows = await database.query(
    `select coalesce(i.${column}, '') as value, -sum(l.amount_nanos) as charged
     from ledger_entries l join interactions i on i.transaction_id = l.interaction_id
     where l.account_id = 1 and l.kind in ('settle', 'adjust')
       and i.created_at >= $1 and i.created_at < $2
     group by 1`,
    [month.from, month.to],
  );
  return new Map(rows.map(({ value, charged }) => [String(value), BigInt(String(charged))]));
}

function chargesBy(rows: readonly Record<string, string>[], column: string): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const row of rows) {
    const value = row[column] ?? "";
    sums.set(value, (sums.get(value) ?? 0n) + parseUsd(row.charged_usd!, 9));
  }
  return sums;
}

const plain = (sums: Map<string, bigint>) => Object.fromEntries([...sums].sort());

/** Clicks, counted. */
class Clicks {
  count = 0;

  constructor(readonly page: Page) {}

  async on(locator: Locator): Promise<void> {
    this.count++;
    await locator.click();
  }

  async file(locator: Locator): Promise<string> {
    const [download] = await Promise.all([this.page.waitForEvent("download"), this.on(locator)]);
    return await Deno.readTextFile(await download.path());
  }
}

Deno.test({
  name:
    "who spent most last month, by app and by user, as CSV: four clicks, or one call of the API",
  ignore: !isPostgresPreferred(),
  async fn() {
    const { page, complaints } = await world().open();
    // Not when the file is loaded: other files of the browser's batch run before it.
    const lastMonth = monthBefore(new Date());
    await page.goto(`${world().baseUrl}/dashboard/overview`);
    const clicks = new Clicks(page);
    await clicks.on(page.getByRole("link", { name: "Last month" }));
    await page.waitForURL("**/dashboard/overview?range=last-month*");
    const breakdown = page.locator("#breakdown");
    await clicks.on(breakdown.getByText("Download CSV", { exact: true }));
    const menu = breakdown.locator(".menu-items");
    const byApp = readCsv(await clicks.file(menu.getByText("By app")));
    const byUser = readCsv(await clicks.file(menu.getByText("By user")));
    assert.equal(clicks.count, 4);

    const ledger = {
      app: await ledgerBy(world().database!, "app", lastMonth),
      user: await ledgerBy(world().database!, "user_id", lastMonth),
    };
    assert.ok(ledger.app.size === 3 && ledger.user.size > 20, "last month has calls of them all");
    assert.deepEqual(plain(chargesBy(byApp, "app")), plain(ledger.app));
    assert.deepEqual(plain(chargesBy(byUser, "user")), plain(ledger.user));
    const costs = byUser.map(({ cost_usd }) => parseUsd(cost_usd!, 9));
    assert.ok(costs.every((cost, at) => at === 0 || cost <= costs[at - 1]!), "the dearest first");

    const day = (at: Date) => at.toISOString().slice(0, 10);
    const last = new Date(lastMonth.to.getTime() - 1);
    const answer = await world().fetch(
      `/api/v1/usage?start_date=${day(lastMonth.from)}&end_date=${day(last)}&group_by=app,user`,
      { headers: { accept: "text/csv" } },
    );
    assert.equal(answer.status, 200);
    const byBoth = readCsv(await answer.text());
    assert.deepEqual(plain(chargesBy(byBoth, "app")), plain(ledger.app));
    assert.deepEqual(plain(chargesBy(byBoth, "user")), plain(ledger.user));

    // The card beside the chart names the same three without a click.
    await page.goto(`${world().baseUrl}/dashboard/overview?range=last-month`);
    const named = await page.locator("section.standing div:has(> h2:text('Top users')) li a")
      .allTextContents();
    assert.deepEqual(named, byUser.slice(0, 3).map(({ user }) => user));
    assert.deepEqual(complaints, []);
  },
});

Deno.test("why was this refused: its X-Request-ID in the one search field says code, field and key, as the log does", async () => {
  const id = `find-${crypto.randomUUID()}`;
  const { key } = await world().createKey("--name", "the shop's key");
  const refused = await world().post("/chat/v1/chat/completions", {
    model: "vendor-c/claude-haiku-4-5",
    messages: [{ role: "user", content: "the words of alice" }],
    n: 3,
  }, { authorization: `Bearer ${key}`, "x-request-id": id });
  assert.equal(refused.status, 400);
  assert.equal(refused.headers.get("x-request-id"), id);
  await refused.body?.cancel();
  const lines = world().log.filter((line) => line.includes(` id=${id} `));
  const [line] = lines.filter((one) => one.includes(" info request "));
  const said = (name: string) => new RegExp(` ${name}=(\\S+)`).exec(line ?? "")?.[1];
  assert.deepEqual([said("code"), said("param")], ["unsupported_parameter", "n"], line);
  assert.ok(key.startsWith(said("key")!.replace("…", "")) && !line!.includes("alice"), line);

  const { page, complaints } = await world().open();
  await page.goto(`${world().baseUrl}/dashboard/interactions`);
  await page.getByRole("searchbox").fill(id);
  await page.keyboard.press("Enter");
  const row = page.getByRole("region", { name: "Refused requests" }).locator("tbody tr");
  await row.first().waitFor();
  assert.equal(await row.count(), 1);
  const cells = (await row.locator("td").allInnerTexts()).map((text) => text.trim());
  const [, code, field, name, model, endpoint, requestId] = cells;
  assert.deepEqual([code, field, name, requestId], [
    ...[`${said("code")} 400`, said("param"), "the shop's key", id],
  ]);
  assert.deepEqual([model, endpoint], [said("model"), "/chat/v1/chat/completions"]);
  assert.ok(!(await page.content()).includes("alice"));

  // The same field finds a call that reached a vendor, by either of its ids.
  const answered = await world().post("/chat/v1/chat/completions", {
    ...{ model: "vendor-b/gpt-4.1", messages: [{ role: "user", content: "Hello" }] },
  }, { "x-request-id": `${id}-2` });
  assert.equal(answered.status, 200);
  await answered.body?.cancel();
  const transaction = answered.headers.get("x-transaction-id")!;
  for (const searched of [`${id}-2`, transaction]) {
    await page.getByRole("searchbox").fill(searched);
    await page.keyboard.press("Enter");
    await page.waitForURL(`**?*q=${searched}*`);
    const found = page.getByRole("region", { name: "Calls with this id" });
    await found.locator(`tr[data-id="${transaction}"]`).waitFor();
  }
  assert.deepEqual(complaints, []);
});
