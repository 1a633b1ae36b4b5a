import type { Page } from "playwright-core";
import type { TestService } from "../support/service.ts";

/**
 * Gives an account some life: cohorts with outcomes, an evaluation, exports, a deletion, a key with
 * caps. The page is of somebody signed in as owner. Gives the pages that show it, by the name of
 * their picture.
 */
export async function fillRecords(
  page: Page,
  service: TestService,
): Promise<Record<string, string>> {
  await callCohorts(service);
  const at = (path: string) => page.goto(service.baseUrl + path);
  const send = () => page.click("main form button[type=submit]");

  await at("/dashboard/keys/new");
  await page.fill("#name", "mobile app");
  await page.fill("#cap_day", "5");
  await page.fill("#cap_month", "80.00");
  await send();
  await page.waitForURL("**/created");
  const key = await page.textContent("#key-value") ?? "";
  for (let n = 0; n < 3; n++) await call(service, "baseline", `of the app ${n}`, key);

  for (const [name, model, text] of evaluations) {
    await at("/dashboard/evals/new");
    await page.fill("#name", name!);
    await page.fill("#model", model!);
    await page.fill("#limit", "12");
    await page.fill("#grader0_text", text!);
    await send();
    await page.waitForURL(/\/dashboard\/evals\/[0-9a-f-]{36}$/);
  }
  const evaluation = new URL(page.url()).pathname;

  await at("/dashboard/deletion/new");
  await page.fill("#user_id", "customer-3");
  await page.fill("#reason", "Request 4711 under Art. 17 GDPR");
  await send();
  const total = /Type (\d+) to confirm/.exec(await page.content())?.[1] ?? "";
  await page.fill("#confirm", total);
  await send();
  await page.waitForSelector("text=Download receipt", { timeout: 20_000 });
  const receipt = new URL(page.url()).pathname;
  for (const format of ["json", "csv"]) {
    await at("/dashboard/exports/new");
    await page.check(`input[value=${format}]`);
    await send();
    await page.waitForURL("**/dashboard/exports");
  }

  const cohort = "/dashboard/cohorts/show?id=short-prompt";
  return {
    cohorts: "/dashboard/cohorts",
    cohort,
    comparison: `${cohort}&with=baseline`,
    experiment: "/dashboard/cohorts/show?id=writer-test",
    evals: "/dashboard/evals",
    evaluation,
    "new-eval": "/dashboard/evals/new",
    exports: "/dashboard/exports",
    "new-export": "/dashboard/exports/new",
    deletion: "/dashboard/deletion",
    "new-deletion": "/dashboard/deletion/new",
    receipt,
    limits: "/dashboard/settings/limits",
    retention: "/dashboard/settings/retention",
  };
}

const evaluations = [
  ["Cheaper model on support questions", "vendor-c/claude-haiku-5-5", ""],
  ["Does it greet?", "vendor-b/gpt-6-luna", "hello"],
];

async function callCohorts(service: TestService): Promise<void> {
  for (let n = 0; n < 24; n++) {
    await call(
      service,
      n % 2 === 0 ? "short-prompt" : "baseline",
      "Where is my order? ".repeat(
        n % 2 === 0 ? 1 + n % 5 : 12 + n,
      ),
      undefined,
      `customer-${n % 6}`,
    );
  }
  await call(service, "checkout/2026-11", "Hello");
  const post = async (cohort: string, conversions: readonly unknown[]) => {
    const answer = await service.post("/api/v1/cohort/outcome", {
      cohort_id: cohort,
      conversions,
    });
    await answer.body?.cancel();
  };
  await callModels(service);
  await post("writer-test", [
    ...[0, 1, 3, 4, 6, 7, 9, 12, 30, 33].map((n) => (
      { type: "notes_sent", value: 1, session_id: `writer-${n}` }
    )),
    { type: "revenue", value: 12.5, session_id: "writer-4" },
    { type: "notes_sent", value: 1 },
  ]);
  const orders = (count: number, revenue: number) => [
    ...Array.from({ length: count }, () => ({ type: "orders", value: 1, label: "web" })),
    ...Array.from({ length: count }, (_, n) => ({ type: "revenue", value: revenue + n * 3 })),
  ];
  await post("short-prompt", orders(9, 18));
  await post("baseline", orders(3, 17));
}

/** Sessions of three models, of which the last one has few. */
async function callModels(service: TestService): Promise<void> {
  const models = [
    "vendor-b/gpt-4.1",
    "vendor-c/claude-sonnet-4-6",
    "vendor-b/gpt-4.1",
    "vendor-d/gemini-2.5-flash",
  ];
  for (let n = 0; n < 44; n++) {
    const answer = await service.post("/chat/v1/chat/completions", {
      model: n < 40 ? models[n % 3] : models[3],
      messages: [{
        role: "user",
        content: `/// COHORT writer-test\n${"A short note, please. ".repeat(1 + n % 5)}[long:${
          20 + n % 7
        }]`,
      }],
    }, { "x-session-id": `writer-${n}` });
    await answer.body?.cancel();
  }
}

async function call(
  service: TestService,
  cohort: string,
  text: string,
  key?: string,
  user = "customer-0",
): Promise<void> {
  const answer = await service.post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    messages: [
      { role: "system", content: `/// APP shop\n/// COHORT ${cohort}\nYou help.` },
      { role: "user", content: text },
    ],
    user,
  }, key === undefined ? {} : { authorization: `Bearer ${key}` });
  await answer.body?.cancel();
}
