import type { Random } from "../../support/random.ts";
import type { Errand, KeyName } from "./calls.ts";
import { pauseMs, type World } from "./world.ts";

/** What operators and owners did beside the calls. */
export interface Deeds {
  readonly deletions: Deletion[];
  readonly outcomes: {
    id: string;
    key: KeyName;
    nanos: bigint;
    taken: boolean;
    session?: string;
  }[];
  /** Answers that no operation should have. */
  readonly unexpected: string[];
  readonly done: Map<string, number>;
  repriced: boolean;
  /** Sessions of the database were ended meanwhile. */
  readonly isCut: boolean;
}

export interface Deletion {
  readonly accountId: number;
  readonly by: "user" | "session" | "transaction";
  readonly value: string;
  readonly startMs: number;
  /** When it was answered, and its answer was good. */
  endMs?: number;
  id?: string;
}

/** What an operation works on. */
export interface Exchange {
  readonly world: World;
  readonly errands: readonly Errand[];
  readonly deeds: Deeds;
  readonly random: Random;
  readonly seed: number;
}

export async function ask(
  { world, random }: Pick<Exchange, "world" | "random">,
  key: KeyName,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; text: string; process: string }> {
  const place = random.pick(world.running());
  if (!place?.service) return { status: 0, text: "", process: "" };
  const process = place.name;
  try {
    const answer = await fetch(place.service.baseUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${world.keys.get(key)!.key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    return { status: answer.status, text: await answer.text(), process };
  } catch (thrown) {
    return { status: 0, text: String(thrown), process };
  }
}

type Operation = (exchange: Exchange) => Promise<unknown>;

const operations: Readonly<Record<string, readonly [number, Operation]>> = {
  grant: [3, async ({ world }) => {
    await world.admin("credits", "grant", "--usd", "0.04", "--account", "team");
  }],
  deduct: [1, async ({ world }) => {
    await world.admin("credits", "deduct", "--usd", "0.01", "--account", "team");
  }],
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
    expect(exchange, "usage", status, text, [200]);
  }],
  list: [2, async (exchange) => {
    const { status, text } = await ask(exchange, "first", "GET", "/api/v1/interactions?limit=50");
    expect(exchange, "list", status, text, [200]);
  }],
  export: [2, async (exchange) => {
    const { status, text } = await ask(exchange, "first", "POST", "/api/v1/exports", {
      start_date: "2020-01-01T00:00:00Z",
    });
    expect(exchange, "export", status, text, [200]);
    if (status === 200) JSON.parse(text);
  }],
  "export as a job": [1, async (exchange) => {
    const { status, text } = await ask(exchange, "first", "POST", "/api/v1/exports", {
      range: { start: "2020-01-01", end: "2099-01-01" },
      format: "jsonl",
      delivery: "job",
    }, { prefer: "respond-async" });
    expect(exchange, "export job", status, text, [200, 202, 429]);
  }],
  eval: [1, async (exchange) => {
    const { status, text } = await ask(exchange, "first", "POST", "/api/v1/evals", {
      model: exchange.random.pick(["vendor-b/gpt-4.1", "vendor-c/claude-haiku-4-5"]),
      filters: { status: "completed" },
      limit: 3,
      sample: "random",
      graders: [{ type: "contains", value: "said" }],
    });
    expect(exchange, "eval", status, text, [200, 202, 400]);
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

function expect(
  { deeds }: Exchange,
  what: string,
  status: number,
  text: string,
  allowed: readonly number[],
): void {
  // A process may be ended meanwhile.
  if (status === 0 || allowed.includes(status)) return;
  if (status === 503 && deeds.isCut) return;
  deeds.unexpected.push(`${what}: ${status} ${text.slice(0, 300)}`);
}

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
  expect(exchange, `erase ${by}`, status, text, [200, 202]);
  if (status === 200 || status === 202) deletion.endMs = Date.now();
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
    expect(exchange, "outcome", status, text, [200, 201, 503]);
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
