/** What people typed into a form that changed nothing, whatever the reason. */
import assert from "@std/assert";
import type { Cookie, Page } from "playwright-core";
import { openPostgres } from "../../src/database/postgres/postgres.ts";
import { type DashboardWorld, signIn, startDashboard } from "../dashboard/world.ts";
import { createMigrated } from "../support/databases.ts";
import { isPostgresPreferred } from "../support/service.ts";
import { openerOf, useBrowser } from "./world.ts";

useBrowser();

Deno.test({
  name: "what was typed is there again after any answer that changed nothing",
  ignore: !isPostgresPreferred(),
  async fn() {
    const { url, drop } = await createMigrated();
    const database = await openPostgres(url);
    const service = await startDashboard({ vendors: true, env: { DATABASE_URL: url } });
    const { page, context } = await (await openerOf(service))();
    context.setDefaultTimeout(30_000);
    const send = () => page.click("main form button[type=submit]");
    const fill = async (path: string, field: string, text: string) => {
      await page.goto(service.baseUrl + path);
      await page.fill(field, text);
    };

    // The session of another tab takes the place of this form's.
    const signInElsewhere = async () => {
      const elsewhere = service.browser();
      await signIn(elsewhere);
      const theirs = (cookie: Cookie) => elsewhere.cookies.get(cookie.name) ?? cookie.value;
      const cookies = await context.cookies();
      await context.addCookies(cookies.map((one) => ({ ...one, value: theirs(one) })));
    };
    await fill("/dashboard/keys/new", "#name", "of another session");
    await signInElsewhere();
    await send();
    await page.click("text=Open the page again");
    assert.equal(await page.inputValue("#name"), "of another session");
    await page.reload();
    assert.equal(await page.inputValue("#name"), "", "only once");

    // Also where the form had been refused: its address is then that of its page.
    await fill("/dashboard/settings/models/new", "#name", "fast");
    await page.fill("#targets", "gpt-4.1");
    await send();
    await page.click("main a[href*=change]");
    await page.fill("#targets", "no-such-model");
    await send();
    await page.waitForSelector("#targets-error");
    await page.fill("#targets", "gpt-4.1 9");
    await signInElsewhere();
    await send();
    await page.click("text=Open the page again");
    assert.equal(await page.inputValue("#targets"), "gpt-4.1 9");

    await replacesNothingUnseen(service, page);

    await fill("/dashboard/keys/new", "#name", "while the store is away");
    await database.query("alter table dashboard_sessions rename to elsewhere");
    await send();
    assert.match(await page.textContent("main") ?? "", /may not have been saved/);
    await page.click("text=Try again");
    assert.match(await page.textContent("h1") ?? "", /went wrong/);
    await database.query("alter table elsewhere rename to dashboard_sessions");
    await page.click("text=Try again");
    assert.equal(await page.inputValue("#name"), "while the store is away");

    const long = "a".repeat(70_000);
    await fill("/dashboard/evals/new", "#name", "much too long");
    await page.fill("#model", "openai/gpt-4.1");
    await page.fill("#grader0_text", long);
    await send();
    await page.click("text=Back to the form");
    assert.equal(await page.inputValue("#name"), "much too long");
    assert.equal(await page.inputValue("#grader0_text"), long);

    await page.context().close();
    await service.stop();
    await database.close();
    await drop();
  },
});

/** What a page had shown waits as well, so that what others have saved since stays. */
async function replacesNothingUnseen(service: DashboardWorld, page: Page): Promise<void> {
  const change = "/dashboard/settings/models/change?name=fast";
  const send = () => page.click("main form button[type=submit]");
  await page.goto(service.baseUrl + change);
  await page.fill("#targets", "gpt-4.1 3");
  await page.context().clearCookies({ name: /session/ });
  await send();
  const owner = await service.owner();
  const { text } = await owner.get(change);
  const [, version = ""] = /name="version" value="([^"]+)"/.exec(text) ?? [];
  const saved = await owner.submit(change, change, { version, targets: "grok-4.3 7" });
  assert.equal(saved.status, 303);
  await page.click("main .button-primary");
  await page.waitForURL(service.baseUrl + change);
  assert.equal(await page.inputValue("#targets"), "gpt-4.1 3");
  await send();
  assert.match(await page.innerText("main [role=alert]"), /It has targets: grok-4\.3 7;/);
}
