import { ask, type Deletion, type Exchange, expectStatus, type Operation } from "./exchange.ts";
import { hookOperations } from "./hooks.ts";
import { moneyOperations } from "./money_operations.ts";
import { pauseMs } from "./world.ts";

const operations: Readonly<Record<string, readonly [number, Operation]>> = {
  ...moneyOperations,
  ...hookOperations,
  "erase a user": [2, (exchange) => erase(exchange, "user")],
  "erase a session": [2, (exchange) => erase(exchange, "session")],
  "erase a call": [2, (exchange) => erase(exchange, "transaction")],
  outcome: [4, postOutcome],
  usage: [2, async (exchange) => {
    const { status, text } = await ask(
      exchange,
      exchange.random.pick(["first", "team"]),
      "GET",
      `/api/v1/usage?group_by=${exchange.random.pick(["model", "app,user", "api_key", "cohort"])}`,
    );
    expectStatus(exchange, "usage", status, text, [200]);
  }],
  list: [2, async (exchange) => {
    const { status, text } = await ask(exchange, "first", "GET", "/api/v1/interactions?limit=50");
    expectStatus(exchange, "list", status, text, [200]);
  }],
  export: [2, async (exchange) => {
    const { status, text } = await ask(exchange, "first", "POST", "/api/v1/exports", {
      start_date: "2020-01-01T00:00:00Z",
    });
    expectStatus(exchange, "export", status, text, [200]);
    if (status === 200) JSON.parse(text);
  }],
  "export as a job": [1, async (exchange) => {
    const { status, text } = await ask(exchange, "first", "POST", "/api/v1/exports", {
      range: { start: "2020-01-01", end: "2099-01-01" },
      format: "jsonl",
      delivery: "job",
    }, { prefer: "respond-async" });
    expectStatus(exchange, "export job", status, text, [200, 202, 429]);
  }],
  "download an export": [2, downloadExport],
  eval: [1, async (exchange) => {
    const { status, text } = await ask(exchange, "first", "POST", "/api/v1/evals", {
      model: exchange.random.pick(["vendor-b/gpt-4.1", "vendor-c/claude-haiku-4-5"]),
      filters: { status: "completed" },
      limit: 3,
      sample: "random",
      graders: [{ type: "contains", value: "said" }],
    });
    expectStatus(exchange, "eval", status, text, [200, 202, 400]);
  }],
  reprice: [1, async ({ world, deeds, random }) => {
    await world.setPrices(random.below(2));
    deeds.repriced = true;
    await world.admin("reprice", "--since", "2020-01-01");
  }],
  budget: [1, async ({ world, random }) => {
    const user = `user:user-${2 + random.below(3)}`;
    await world.admin("budget", "set", "--on", user, "--per", "day", "--usd", "0.05");
  }],
  "create a key": [1, async ({ world, random, seed }) => {
    await world.admin("key", "create", "--name", `extra-${seed}-${random.below(1e9)}`);
  }],
};

async function erase(exchange: Exchange, by: Deletion["by"]): Promise<void> {
  const { world, deeds, random, errands } = exchange;
  const key = random.pick(["first", "team"] as const);
  const accountId = world.keys.get(key)!.accountId;
  const answered = errands.filter((each) => world.keys.get(each.key)!.accountId === accountId)
    .flatMap(({ attempts }) => attempts.map(({ headers }) => headers["x-transaction-id"]))
    .filter((id) => id !== undefined);
  const value = by === "user"
    ? `user-${random.below(6)}`
    : by === "session"
    ? `session-${random.below(8)}`
    : answered.length > 0
    ? random.pick(answered)
    : "none";
  const deletion: Deletion = { accountId, by, value, startMs: Date.now() };
  deeds.deletions.push(deletion);
  const { status, text } = by === "user"
    ? await ask(exchange, key, "POST", "/api/v1/data", { user_id: value, reason: "a test" })
    : await ask(exchange, key, "DELETE", "/api/v1/data", {
      ...(by === "session" ? { session_ids: [value] } : { transaction_ids: [value] }),
      confirm: true,
    });
  expectStatus(exchange, `erase ${by}`, status, text, [200, 202]);
  if (status === 200 || status === 202) deletion.endMs = Date.now();
}

async function downloadExport(exchange: Exchange): Promise<void> {
  const { status, text } = await ask(exchange, "first", "GET", "/api/v1/exports");
  expectStatus(exchange, "list exports", status, text, [200]);
  if (status !== 200) return;
  const { data } = JSON.parse(text) as { data: { request_id: string; state: string }[] };
  const ready = data.filter(({ state }) => state === "ready");
  if (ready.length === 0) return;
  const path = `/api/v1/exports/${exchange.random.pick(ready).request_id}/stream`;
  const file = await ask(exchange, "first", "GET", path);
  // Meanwhile what it holds may be erased.
  expectStatus(exchange, "download an export", file.status, file.text, [200, 404]);
  if (file.status !== 200) return;
  for (const line of file.text.split("\n")) if (line !== "") JSON.parse(line);
}

async function postOutcome(exchange: Exchange): Promise<void> {
  const { deeds, random, seed } = exchange;
  const key = random.pick(["first", "team"] as const);
  const id = `outcome-${seed}-${deeds.outcomes.length}`;
  const value = 1 + random.below(1000);
  const session = random.chance(50) ? `session-${random.below(8)}` : undefined;
  const outcome = {
    id,
    key,
    nanos: BigInt(value) * 1_000_000_000n,
    taken: false,
    ...(session === undefined ? {} : { session }),
  };
  deeds.outcomes.push(outcome);
  for (let attempt = 0; attempt < 5 && !outcome.taken; attempt++) {
    const { status, text } = await ask(exchange, key, "POST", "/api/v1/cohort/outcome", {
      cohort_id: "group",
      conversions: [{ type: "signups", value, id, ...(session ? { session_id: session } : {}) }],
    }, { "x-request-id": id });
    expectStatus(exchange, "outcome", status, text, [200, 201, 503]);
    outcome.taken = status === 200 || status === 201;
    if (random.chance(70)) break;
    if (outcome.taken && random.chance(50)) outcome.taken = false;
    await pauseMs(50);
  }
}

/** Carries out a random operation; a process that is ended meanwhile is no fault. */
export async function operate(exchange: Exchange): Promise<void> {
  const { random, deeds } = exchange;
  const names = Object.entries(operations).map(([name, [weight]]) => [weight, name] as const);
  const name = random.weighted(names);
  deeds.done.set(name, (deeds.done.get(name) ?? 0) + 1);
  try {
    await operations[name]![1](exchange);
  } catch (thrown) {
    const text = String(thrown);
    const gone =
      /no process runs|server ended|store is unavailable|terminat|database|try again|connection|ECONN|error sending|undefined/i
        .test(text);
    if (!gone) deeds.unexpected.push(`${name}: ${text.slice(0, 300)}`);
  }
}
