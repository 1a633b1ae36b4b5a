import assert from "@std/assert";
import { runAdminHere } from "../support/admin.ts";
import { type FakeVendor, startFakeVendor } from "../support/fake_vendor.ts";
import { createMigrated } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { untilStored } from "../support/until_admitted.ts";

type Environment = Record<string, string>;
type Json = Record<string, unknown>;

async function admin(env: Environment, ...args: string[]): Promise<Json> {
  const ended = await runAdminHere({ args: [...args, "--json"], env });
  assert.equal(ended.code, 0, `${args.join(" ")}: ${ended.stdout}${ended.stderr}`);
  return JSON.parse(ended.stdout);
}

/** Answers chat calls with 1,000 tokens in and 100 out, and lists its models. */
function startVendor(models: unknown[], usage: Json = {}): Promise<FakeVendor> {
  return startFakeVendor(async ({ request, answer }) => {
    if (request.path.endsWith("/models")) return await answer(200, { data: models });
    const message = { role: "assistant", content: "hi" };
    await answer(200, {
      choices: [{ index: 0, finish_reason: "stop", message }],
      usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100, ...usage },
      service_tier: "flex",
    });
  });
}

async function call(service: TestService, model: string): Promise<void> {
  const answer = await fetch(`${service.baseUrl}/chat/v1/chat/completions`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${service.key}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }] }),
  });
  assert.equal(answer.status, 200, await answer.text());
}

async function listModels(service: TestService): Promise<void> {
  const answer = await fetch(`${service.baseUrl}/vendor-f/v1/models`, {
    headers: { authorization: `Bearer ${service.key}` },
  });
  assert.match(await answer.text(), /gpt-x/);
}

async function records(service: TestService): Promise<Json[]> {
  const answer = await untilStored(() =>
    fetch(`${service.baseUrl}/api/v1/exports`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${service.key}`,
        "content-type": "application/json",
      },
      body: JSON.stringify({ start_date: "2026-01-01T00:00:00Z" }),
    })
  );
  assert.equal(answer.status, 200);
  return await answer.json();
}

const priced = { id: "openai/gpt-x", pricing: { prompt: "0.000001", completion: "0.000002" } };

interface Scene {
  env: Environment;
  service: TestService;
  /** Writes `PRICES_FILE` with this input price of gpt-5-mini. */
  write: (input: string) => Promise<void>;
}

async function story(given: Environment, t: Deno.TestContext): Promise<void> {
  await using b = await startVendor([{ id: "gpt-5-mini" }, { id: "gpt-5-nano" }]);
  await using f = await startVendor([priced, { id: "dark/horse" }], { cost: 0.0015 });
  const directory = await Deno.makeTempDir({ prefix: "prices-" });
  const PRICES_FILE = `${directory}/prices.json`;
  const write = (input: string) => Deno.writeTextFile(PRICES_FILE, pricesFile(input));
  await write("0.25");
  const env = {
    ...given,
    ...{ DATA_DIR: `${directory}/data`, PRICES_FILE },
    ...{ VENDOR_B_BASE_URL: b.url, VENDOR_B_API_KEY: "kb" },
    ...{ VENDOR_F_BASE_URL: f.url, VENDOR_F_API_KEY: "kf" },
    // Nobody listens there.
    ...{ VENDOR_G_BASE_URL: "http://127.0.0.1:1", VENDOR_G_API_KEY: "kg" },
  };
  const service = await startTestService({ env });
  const requestContext = { env, service, write };
  try {
    for (let at = 0; at < 2; at++) await call(service, "vendor-b/gpt-5-mini");
    // Listing the models is what teaches their prices.
    await listModels(service);
    await call(service, "vendor-f/openai/gpt-x");
    // Beside a server on PostgreSQL, the commands find only calls that it has stored.
    assert.equal((await records(service)).length, 3);
    await t.step(
      "prices check lists gaps, differences, and vendors that can't be queried",
      () => check(requestContext),
    );
    await t.step("a record's price version can be looked up", () => lookUp(requestContext));
    await t.step(
      "reprice takes the file as it is now, and only once",
      () => correct(requestContext),
    );
    await t.step(
      "wrong words are wrong usage, a wrong file is one line",
      () => refuse(requestContext),
    );
  } finally {
    await service.stop();
    await Deno.remove(directory, { recursive: true });
  }
}

function pricesFile(input: string): string {
  return JSON.stringify({
    "vendor-b/gpt-5-mini": {
      ...{ input, cache_read: "0.025", output: "2", per_web_search: "0.01" },
      service_tiers: { flex: "0.5" },
    },
  });
}

async function check({ env, service }: Scene): Promise<void> {
  const found = await admin(env, "prices", "check");
  const vendors = found.vendors as Json[];
  const states = vendors.map((one) => `${one.vendor} ${one.state}`);
  assert.deepEqual(states, [
    ...["vendor-a not_configured", "vendor-b listed", "vendor-c not_configured"],
    ...["vendor-d not_configured", "vendor-e not_configured", "vendor-f listed"],
    "vendor-g unreachable",
  ]);
  const gaps = vendors[1]!.without_price as Json[];
  assert.deepEqual(gaps.map(({ model }) => model), ["gpt-5-nano"]);
  assert.equal((gaps[0]!.public_price as Json).input, "0.05");
  assert.deepEqual(vendors[5]!.at_fallback_price, ["dark/horse"]);
  assert.deepEqual(found.differences, []);
  assert.ok((found.explained_differences as Json[]).every(({ why }) => why));
  assert.deepEqual(found.vendor_reported_costs, [{
    ...{ vendor: "vendor-f", model: "openai/gpt-x", calls: 1, reported_usd: "0.001500000" },
    ...{ compared_usd: "0.001500000", list_usd: "0.001200000" },
    difference_usd: "0.000300000",
  }]);
  const text = await (await fetch(`${service.baseUrl}/metrics`)).text();
  assert.match(text, /vendor_reported_cost_usd_total\{vendor="vendor-f",by="vendor"\} 0\.0015\n/);
  assert.match(text, /vendor_reported_cost_usd_total\{vendor="vendor-f",by="list"\} 0\.0012\n/);
}

async function lookUp({ env, service }: Scene): Promise<void> {
  const [before] = await records(service);
  // 1,000 × 0.25 + 100 × 2 per million, at half the price.
  assert.equal(before!.cost_usd, "0.000225000");
  const shown = await admin(env, "prices", "show", String(before!.price_version));
  assert.deepEqual([shown.vendor, shown.model, shown.source], [
    ...["vendor-b", "gpt-5-mini", "PRICES_FILE"],
  ]);
  assert.equal((shown.price as Json).input, "0.25");
}

async function correct(requestContext: Scene): Promise<void> {
  const { env, service, write } = requestContext;
  await write("0.75");
  const total = { calls: 3, corrected: 2, old_cost_usd: "0.001950000" };
  const after = { new_cost_usd: "0.002450000", difference_usd: "0.000500000" };
  const changed = { ...total, ...after, charged_difference_usd: "0.000500000" };
  const dry = await admin(env, "reprice", "--dry-run");
  assert.deepEqual([dry.dry_run, dry.total], [true, changed]);
  assert.equal((await records(service))[0]!.cost_usd, "0.000225000");
  const none = await admin(env, "reprice", "--until", "2026-01-01T00:00:00Z");
  assert.equal((none.total as Json).calls, 0);
  const only = await admin(env, "reprice", "--vendor", "openrouter");
  assert.deepEqual((only.models as Json[]).map(({ kept }) => (kept as Json).vendor_cost), [
    1,
  ]);

  const start = await admin(env, "credits", "show");
  const done = await admin(env, "reprice", "--model", "openai/gpt-5-mini");
  assert.equal((done.total as Json).corrected, 2);
  const end = await admin(env, "credits", "show");
  assert.deepEqual([start.balance_usd, end.balance_usd], ["9.998050000", "9.997550000"]);
  const rows = await records(service);
  assert.deepEqual(rows.map((row) => [row.cost_usd, row.charged_usd]), [
    ...[["0.000475000", "0.000475000"], ["0.000475000", "0.000475000"]],
    ["0.001500000", "0.001500000"],
  ]);
  const shown = await admin(env, "prices", "show", String(rows[0]!.price_version));
  assert.equal((shown.price as Json).input, "0.75");
  assert.equal((await admin(env, "reprice") as { total: Json }).total.corrected, 0);
  await reconcile(requestContext, rows.slice(0, 2).map((row) => row.transaction_id));
}

/** Corrections of calls are told from grants and deductions: `charged_usd` has them already. */
async function reconcile({ env, service }: Scene, corrected: readonly unknown[]): Promise<void> {
  await admin(env, "credits", "deduct", "--usd", "1");
  const { key } = await admin(env, "key", "create", "--name", "audit", "--scope", "admin");
  const answer = await fetch(`${service.baseUrl}/api/v1/admin/credits/grants`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const { data } = await answer.json() as { data: Json[] };
  const entries = data.map(({ kind, usd, transaction_id }) => [kind, usd, transaction_id]);
  assert.deepEqual(entries[0], ["adjust", "-1.000000000", null]);
  assert.deepEqual(
    new Set(entries.slice(1, 3).map(String)),
    new Set(corrected.map((id) => `adjust,-0.000250000,${id}`)),
  );
  assert.deepEqual(entries.slice(3), [["grant", "10.000000000", null]]);
}

async function refuse({ env, write }: Scene): Promise<void> {
  const wrong = [["--since", "today"], ["--vendor", "nobody"], ["--model", "gpt"]] as const;
  for (const [option, value] of wrong) {
    const ended = await runAdminHere({ args: ["reprice", option, value], env });
    assert.deepEqual([ended.code, ended.stdout], [2, ""], ended.stderr);
    assert.match(ended.stderr, new RegExp(`^${option}.*: expected `));
    assert.ok(ended.stderr.includes(value), ended.stderr);
  }
  await write("dear");
  const ended = await runAdminHere({ args: ["prices", "check"], env });
  assert.equal(ended.code, 1);
  assert.match(ended.stderr, /^(error: )?PRICES_FILE=.* is not valid: .*input[^\n]*\n$/);
}

Deno.test("prices are checked and calls priced again through the running server", (t) =>
  story({}, t));

const { available, reason } = postgresAvailability();
Deno.test({
  name: `calls in a database of their own are priced again${
    available ? "" : ` (skipped: ${reason})`
  }`,
  ignore: !available,
  fn: async (t) => {
    const [database, analytics] = [await createMigrated(), await createMigrated()];
    try {
      await story({ DATABASE_URL: database.url, ANALYTICS_DATABASE_URL: analytics.url }, t);
    } finally {
      await database.drop();
      await analytics.drop();
    }
  },
});

Deno.test({
  name: `prices are checked and calls priced again beside a server on PostgreSQL${
    available ? "" : ` (skipped: ${reason})`
  }`,
  ignore: !available,
  fn: async (t) => {
    const database = await createMigrated();
    try {
      await story({ DATABASE_URL: database.url }, t);
    } finally {
      await database.drop();
    }
  },
});
