import assert from "@std/assert";
import { callControl } from "../../src/admin/control.ts";
import { type ErrorFields, play, type Scenario } from "../support/scenarios.ts";
import { shared, startSimulatedService } from "../support/service.ts";

const service = shared(() => startSimulatedService());

const hello = [{ role: "user", content: "Hello." }];
const chatCall = {
  path: "/vendor-b/v1/chat/completions",
  body: { model: "gpt-4.1", messages: hello },
} as const;

let accounts = 0;

/** An account of its own with this credit, and a key of it. */
async function newAccount(usd = "0", ...options: string[]) {
  const name = `account ${++accounts}`;
  await service().admin("account", "create", "--name", name);
  if (usd !== "0") await service().admin("credits", "grant", "--usd", usd, "--account", name);
  const { key } = await service().createKey("--account", name, ...options);
  return { name, key };
}

async function creditOf(account: string): Promise<string> {
  const { json } = await service().admin("credits", "show", "--account", account);
  const { balance_usd, reserved_usd } = json as Record<string, string>;
  assert.equal(reserved_usd, "0.000000000");
  return balance_usd!;
}

function modelCalls(): number {
  const { simulators } = service();
  return (["vendor-a", "vendor-b", "vendor-c", "vendor-d"] as const).flatMap((label) =>
    simulators.requests(label).filter(({ method }) => method === "POST")
  ).length;
}

/** Plays what must be refused before a vendor is called or credit is touched. */
async function refused(account: { name: string; key: string }, scenario: Omit<Scenario, "name">) {
  const [called, had] = [modelCalls(), await creditOf(account.name)];
  await play(service(), {
    name: scenario.path,
    key: account.key,
    ...scenario,
    answerHeaders: { "x-transaction-id": null, ...scenario.answerHeaders },
  });
  assert.equal(modelCalls(), called, "no vendor is called");
  assert.equal(await creditOf(account.name), had, "no credit is touched");
  assert.deepEqual(await service().rows({}, account.key), [], "nothing is recorded");
}

const noCredit: ErrorFields = {
  type: "billing_error",
  code: "insufficient_credits",
  message:
    /^The credit balance does not cover this call: it needs up to \d+\.\d{9} USD, and 0\.000000000 USD is left\. Grant credit, set a lower output limit/,
};

Deno.test("without credit every dialect answers 402 in its own words, and nothing else happens", async () => {
  const account = await newAccount();
  const messages = { model: "claude-haiku-4-5", max_tokens: 10, messages: hello };
  const calls: readonly [path: string, body: unknown, error: Partial<ErrorFields>][] = [
    [chatCall.path, chatCall.body, {}],
    [chatCall.path, { ...chatCall.body, stream: true }, {}],
    ["/chat/v1/chat/completions", { model: "xai/grok-4.3", messages: hello }, {}],
    ["/vendor-b/v1/responses", { model: "gpt-4.1", input: "Hello." }, {}],
    ["/vendor-c/v1/messages", messages, { dialect: "messages" }],
    [
      "/vendor-d/v1beta/models/gemini-2.5-flash:generateContent",
      { contents: [{ parts: [{ text: "Hello." }] }] },
      { dialect: "generate", status: "FAILED_PRECONDITION" },
    ],
  ];
  for (const [path, body, error] of calls) {
    await refused(account, { path, body, status: 402, error: { ...noCredit, ...error } });
  }
});

Deno.test("without credit a vendor key of one's own still works, sent along or stored", async () => {
  const account = await newAccount();
  const own = service().simulators.vendors["vendor-b"].apiKey;
  await play(service(), {
    name: "dual",
    ...chatCall,
    key: `${account.key};${own}`,
    status: 200,
    unexpected: [own],
  });
  const words = ["vendor-key", "set", "--vendor", "vendor-b", "--account", account.name];
  const set = await callControl(service().dataDir, words, own);
  assert.equal(set?.exitCode, 0);
  await play(service(), { name: "stored", ...chatCall, key: account.key, status: 200 });
  const rows = await service().rows({}, account.key);
  assert.deepEqual(rows.map(({ mode }) => mode).sort(), ["dual_key", "stored_key"]);
  for (const row of rows) {
    assert.equal(row.charged_usd, "0.000000000");
    assert.ok(Number(row.cost_usd) > 0, "what it costs is recorded");
  }
  assert.equal(await creditOf(account.name), "0.000000000");
  // Another vendor's managed key needs credit.
  await play(service(), {
    name: "managed",
    key: account.key,
    path: "/vendor-g/v1/chat/completions",
    body: { model: "grok-4.3", messages: hello },
    status: 402,
    error: noCredit,
  });
});

Deno.test("429 comes before 403, 403 before 400, 400 before 402", async () => {
  const permission = { type: "permission_error", code: "permission_denied" };
  const scoped = await newAccount("0", "--scope", "vendor-b", "--scope", "exports");
  const other = { ...chatCall, path: "/vendor-g/v1/chat/completions" };
  await refused(scoped, { ...other, body: "{oops", status: 403, error: permission });
  const models = await newAccount("0", "--models", "vendor-b/gpt-4o-mini");
  await refused(models, { ...chatCall, status: 403, error: { ...permission, param: "model" } });
  const invalid = { type: "invalid_request_error", code: "missing_required_field" };
  await refused(scoped, {
    ...chatCall,
    body: { model: "gpt-4.1" },
    status: 400,
    error: { ...invalid, param: "messages" },
  });
  const limited = await newAccount("0", "--scope", "vendor-b");
  const tier = ["account", "tier", limited.name, "enterprise", "--rpm", "1", "--burst", "2"];
  assert.equal((await service().admin(...tier)).exitCode, 0);
  const answer = { name: "limited", ...other, key: limited.key };
  const remaining = (text: string) => ({ answerHeaders: { "x-ratelimit-remaining": text } });
  // Two refusals have taken the two tokens.
  await play(service(), { ...answer, status: 403, error: permission, ...remaining("1") });
  await play(service(), { ...answer, status: 403, error: permission, ...remaining("0") });
  await play(service(), {
    ...answer,
    status: 429,
    error: { type: "rate_limit_error", code: "rate_limit_exceeded" },
    answerHeaders: { "retry-after": /^[1-9]\d*$/, "x-ratelimit-remaining": "0" },
  });
});

Deno.test("a model without a price is 404 in managed mode, however much credit there is", async () => {
  const account = await newAccount("5");
  await refused(account, {
    ...chatCall,
    body: { ...chatCall.body, model: "gpt-unheard-of" },
    status: 404,
    error: { type: "not_found_error", code: "model_not_found", param: "model", message: /price/ },
  });
});

Deno.test("a grant is there for the very next call", async () => {
  const account = await newAccount();
  const call = { name: "call", ...chatCall, key: account.key };
  await play(service(), { ...call, status: 402, error: noCredit });
  await service().admin("credits", "grant", "--usd", "1", "--account", account.name);
  await play(service(), { ...call, status: 200 });
  const [row] = await service().rows({}, account.key);
  assert.equal(
    Number(await creditOf(account.name)).toFixed(9),
    (1 - Number(row!.charged_usd)).toFixed(9),
  );
});
