import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import assert from "@std/assert";
import { callControl } from "../../src/admin/control.ts";
import type { CommandResult } from "../../src/admin/command.ts";
import { promisedMs } from "../support/quiet.ts";
import { type Row, shared, startSimulatedService } from "../support/service.ts";
import { openai } from "../support/service_openai.ts";

const directory = Deno.makeTempDirSync({ prefix: "virtual-models-" });
const path = `${directory}/models.json`;
const shop = {
  targets: [{ model: "claude-sonnet-4-6", weight: 9 }, { model: "openai/gpt-5-mini", weight: 1 }],
  fallbacks: ["gemini-2.5-flash"],
  stick_by: "session",
};

/** All vendors, with virtual models of the service. */
const service = shared(async () => {
  await Deno.writeTextFile(path, JSON.stringify({ shop, wide: { targets: ["grok-4.3"] } }));
  const price = { input: "1", output: "2" };
  const prices = { "xai/double": price, "openai/double": price };
  await Deno.writeTextFile(`${directory}/prices.json`, JSON.stringify(prices));
  const started = await startSimulatedService({
    ...{ MODELS_FILE: path, PRICES_FILE: `${directory}/prices.json` },
  });
  const stop = async () => {
    await started.stop();
    await Deno.remove(directory, { recursive: true });
  };
  return { ...started, stop };
});

async function admin(argv: readonly string[], input: unknown = ""): Promise<CommandResult> {
  const text = typeof input === "string" ? input : JSON.stringify(input);
  return (await callControl(service().dataDir, argv, text))!;
}

async function set(name: string, definition: unknown, ...argv: string[]): Promise<void> {
  const { exitCode, lines } = await admin(["model", "set", name, ...argv], definition);
  assert.equal(exitCode, 0, lines.join("\n"));
}

const messages = [{ role: "user" as const, content: "Tell me about rivers." }];

/** A chat call; its status, its error code and the row of its transaction. */
async function ask(
  model: string,
  key = service().key,
): Promise<{ status: number; code?: string; message?: string; row?: Row }> {
  const answer = await service().post(
    "/chat/v1/chat/completions",
    { model, messages },
    { authorization: `Bearer ${key}` },
  );
  const { error } = await answer.json();
  const { status } = answer;
  if (error) return { status, code: error.code, message: error.message };
  const id = answer.headers.get("x-transaction-id");
  const [row] = await service().rows({ transaction_id: id }, key.split(";")[0]!);
  return { status, row: row! };
}

const seen = (row: Row | undefined) => row && [row.requested_model, row.vendor, row.model];

const plain: [string, string][] = [
  ["gpt-5-mini", "vendor-b"],
  ["claude-sonnet-4-6", "vendor-c"],
  ["gemini-2.5-flash", "vendor-d"],
  ["grok-4.3", "vendor-g"],
];
for (const [model, vendor] of plain) {
  Deno.test(`'${model}' alone is ${vendor}'s, recorded as it was asked for and as it was sent`, async () => {
    const { status, row } = await ask(model);
    assert.deepEqual([status, seen(row)], [200, [model, vendor, model]]);
  });
}

const asked = "Tell me about rivers.";
const libraries: [
  string,
  (model: string, stream: boolean) => Promise<string | null | undefined>,
][] = [
  ["openai, chat", async (model, stream) => {
    const { completions } = openai(service()).chat;
    if (!stream) return (await completions.create({ model, messages })).choices[0]!.message.content;
    return await completions.stream({ model, messages }).finalContent();
  }],
  ["openai, responses", async (model, stream) => {
    const { responses } = openai(service());
    if (!stream) return (await responses.create({ model, input: asked })).output_text;
    return (await responses.stream({ model, input: asked }).finalResponse()).output_text;
  }],
  ["anthropic", async (model, stream) => {
    const { baseUrl, key } = service();
    const client = new Anthropic({ baseURL: `${baseUrl}/chat`, apiKey: key, maxRetries: 0 });
    const params = { model, max_tokens: 1000, messages };
    const { content } = stream
      ? await client.messages.stream(params).finalMessage()
      : await client.messages.create(params);
    return content.map((part) => part.type === "text" ? part.text : "").join("");
  }],
  ["google genai", async (model, stream) => {
    const { baseUrl, key } = service();
    const httpOptions = { baseUrl: `${baseUrl}/chat` };
    const { models } = new GoogleGenAI({ apiKey: key, httpOptions });
    const params = { model, contents: asked };
    if (!stream) return (await models.generateContent(params)).text;
    const chunks = await Array.fromAsync(await models.generateContentStream(params));
    return chunks.map(({ text }) => text ?? "").join("");
  }],
];
for (const [name, call] of libraries) {
  for (const stream of [false, true]) {
    Deno.test(`${name}${stream ? ", streamed" : ""}: a virtual model of the service, and one of the account`, async () => {
      assert.match(await call("shop", stream) ?? "", /rivers/);
      await set("v:2_of-mine.x", { targets: ["gpt-4.1"] });
      assert.match(await call("v:2_of-mine.x", stream) ?? "", /rivers/);
      const rows = await service().rows({ requested_model: ["shop", "v:2_of-mine.x"] });
      const own = rows.filter(({ stream: streamed }) => streamed === stream).map(seen);
      assert.ok(own.some((one) => one!.join() === "v:2_of-mine.x,vendor-b,gpt-4.1"));
      assert.ok(own.some((one) => one![0] === "shop"));
    });
  }
}

Deno.test("the account's model goes before the service's, from the command's end on, and only for it", async () => {
  assert.deepEqual(seen((await ask("wide")).row), ["wide", "vendor-g", "grok-4.3"]);
  await set("wide", { targets: ["openai/gpt-4.1"] });
  assert.deepEqual(seen((await ask("wide")).row), ["wide", "vendor-b", "gpt-4.1"]);
  await admin(["account", "create", "--name", "neighbour"]);
  await admin(["credits", "grant", "--usd", "1", "--account", "neighbour"]);
  const { key } = await service().createKey("--account", "neighbour");
  assert.deepEqual(seen((await ask("wide", key)).row), ["wide", "vendor-g", "grok-4.3"]);
  await set("private", { targets: ["gpt-4.1"] });
  assert.equal((await ask("private")).status, 200);
  const refused = await ask("private", key);
  assert.deepEqual([refused.status, refused.code], [404, "model_not_found"]);
  assert.doesNotMatch(refused.message!, /Did you mean/);
  const { exitCode } = await admin(["model", "remove", "wide"]);
  assert.equal(exitCode, 0);
  assert.deepEqual(seen((await ask("wide")).row), ["wide", "vendor-g", "grok-4.3"]);
  assert.equal((await admin(["model", "remove", "wide"])).exitCode, 1);
});

Deno.test("the list has virtual models for who may call them, and nobody else's", async () => {
  await set("listed", { targets: ["gpt-4.1"] });
  await admin(["account", "create", "--name", "reader"]);
  const { key } = await service().createKey("--account", "reader");
  const listed = async (authorization: string) => {
    const answer = await service().fetch("/chat/v1/models", {
      headers: { authorization: `Bearer ${authorization}` },
    });
    const { data } = await answer.json() as { data: Record<string, unknown>[] };
    return data.filter(({ owned_by: owner }) => owner === "virtual");
  };
  const own = await listed(service().key);
  const { created, ...entry } = own.find(({ id }) => id === "listed")!;
  assert.deepEqual(entry, { id: "listed", object: "model", owned_by: "virtual" });
  assert.ok(Math.abs(Number(created) - Date.now() / 1000) < 3600);
  assert.deepEqual(own.find(({ id }) => id === "shop"), {
    ...{ id: "shop", object: "model", owned_by: "virtual", created: 0 },
  });
  assert.deepEqual((await listed(key)).map(({ id }) => id), ["shop", "wide"]);
  const vendors = await service().fetch("/openai/v1/models").then((one) => one.json());
  assert.ok(!JSON.stringify(vendors).includes("virtual"));
});

Deno.test("a key's models: a virtual one allows its targets through it, others are skipped", async () => {
  await set("both", { targets: [{ model: "gpt-4.1", weight: 99 }, "claude-sonnet-4-6"] });
  const through = await service().createKey("--models", "both");
  assert.equal((await ask("both", through.key)).status, 200);
  assert.equal((await ask("gpt-4.1", through.key)).code, "permission_denied");
  const claude = await service().createKey("--models", "anthropic/claude-sonnet-4-6");
  const { row } = await ask("both", claude.key);
  assert.deepEqual(seen(row), ["both", "vendor-c", "claude-sonnet-4-6"]);
  const neither = await service().createKey("--models", "grok-4.3");
  const refused = await ask("both", neither.key);
  assert.deepEqual([refused.status, refused.code], [403, "permission_denied"]);
  assert.match(refused.message!, /^model: .*'both'/);
});

Deno.test("an own vendor key goes to its vendor alone, or is refused", async () => {
  const { vendors } = service().simulators;
  await set("two", { targets: [{ model: "gpt-4.1", weight: 99 }, "claude-sonnet-4-6"] });
  const { key } = service();
  const called = await ask("two", `${key};sk-ant-${vendors["vendor-c"].apiKey}`);
  // The simulator takes no key but its own, and says so of this one.
  assert.deepEqual([called.status, called.code], [401, "invalid_vendor_api_key"]);
  const [row] = (await service().rows({ requested_model: "two" })).filter(({ mode }) =>
    mode === "dual_key"
  );
  assert.deepEqual([row!.vendor, row!.attempts], ["vendor-c", null]);
  const refused = await ask("two", `${key};anything`);
  assert.deepEqual([refused.status, refused.code], [400, "invalid_value"]);
  await set("mine", { targets: ["gpt-4.1"] });
  const own = await ask("mine", `${key};${vendors["vendor-b"].apiKey}`);
  assert.deepEqual([own.status, own.row?.mode, own.row?.charged_usd], [
    ...[200, "dual_key", "0.000000000"],
  ]);
});

Deno.test("with a stored key only its vendor is asked, so that no credit is needed", async () => {
  const both = { targets: [{ model: "claude-sonnet-4-6", weight: 99 }, "gpt-4.1"] };
  await admin(["account", "create", "--name", "keeper"]);
  await set("stored", both, "--account", "keeper");
  const { key } = await service().createKey("--account", "keeper");
  assert.equal((await ask("stored", key)).code, "insufficient_credits");
  const { apiKey } = service().simulators.vendors["vendor-b"];
  const stored = await admin(
    ["vendor-key", "set", "--vendor", "openai", "--account", "keeper"],
    apiKey,
  );
  assert.equal(stored.exitCode, 0, stored.lines.join());
  const { row } = await ask("stored", key);
  assert.deepEqual([...seen(row)!, row!.mode, row!.charged_usd], [
    ...["stored", "vendor-b", "gpt-4.1", "stored_key", "0.000000000"],
  ]);
});

Deno.test("token counts, embeddings and evaluations take virtual and plain names", async () => {
  await set("counted", { targets: ["claude-sonnet-4-6"] });
  await set("vectors", { targets: ["claude-sonnet-4-6", "text-embedding-3-small"] });
  for (const model of ["counted", "claude-sonnet-4-6"]) {
    const count = await service().post("/chat/v1/messages/count_tokens", { model, messages });
    assert.ok((await count.json()).input_tokens > 0);
  }
  for (const model of ["vectors", "text-embedding-3-small"]) {
    const answer = await service().post("/chat/v1/embeddings", { model, input: "river" });
    assert.equal(answer.status, 200);
    assert.equal((await answer.json()).data.length, 1);
  }
  const grader = { type: "judge", model: "claude-sonnet-4-6", prompt: "Good?" };
  for (const [model, status] of [["counted", 202], ["gpt-4.1", 202], ["cuonted", 404]] as const) {
    const filters = { requested_model: "no such call" };
    const run = { filters, model, graders: [grader] };
    const answer = await service().post("/api/v1/evals", run);
    assert.equal(answer.status, status, await answer.text());
  }
});

const unknown: [string, string, number, string, RegExp][] = [
  ["nearly another", "shpo", 404, "model_not_found", /Did you mean 'shop'\?/],
  ["like no other", "qwertz", 404, "model_not_found", /unknown model/],
  ["a reseller's", "deepseek-v4-pro", 404, "model_not_found", /unknown model/],
  ["two vendors' own", "double", 400, "invalid_value", /'vendor-g\/double' or 'vendor-b\/double'/],
];
for (const [what, model, status, code, message] of unknown) {
  Deno.test(`a name that is ${what} is ${status} ${code}`, async () => {
    const refused = await ask(model);
    assert.deepEqual([refused.status, refused.code], [status, code]);
    assert.match(refused.message!, message);
  });
}

Deno.test("on a vendor's own path a virtual model's name is refused, with the path that takes it", async () => {
  for (const [path, model] of [["/openai/v1", "shop"], ["/chat/v1", "openai/shop"]]) {
    const answer = await service().post(`${path}/chat/completions`, { model, messages });
    assert.equal(answer.status, 404);
    const { error } = await answer.json();
    assert.deepEqual([error.code, error.message], [
      "model_not_found",
      "model: no price is known for 'openai/shop'. 'shop' is a virtual model: call it at /chat/v1, without a vendor.",
    ]);
  }
});

Deno.test("a model of another vendor is refused with the name to call", async () => {
  const rows = [["/openai/v1", "claude-sonnet-4-6"], ["/openai/v1", "anthropic/claude-sonnet-4-6"]];
  for (const [path, model] of [...rows, ["/chat/v1", "openai/claude-sonnet-4-6"]]) {
    const answer = await service().post(`${path}/chat/completions`, { model, messages });
    const { error } = await answer.json();
    assert.equal(error.code, "model_not_found");
    assert.match(
      error.message,
      /of another vendor: call 'anthropic\/claude-sonnet-4-6' at \/chat\/v1\.$/,
    );
  }
});

const wrong: [string[], unknown, RegExp][] = [
  [["model", "set", "x/y"], { targets: ["gpt-4.1"] }, /^name: 'x\/y' is not a name/],
  [["model", "set", "x"], "{", /^standard input: expected JSON/],
  [["model", "set", "x"], {}, /^standard input: targets: /],
  [
    ["model", "set", "x"],
    { targets: ["shop"] },
    /^standard input: targets\[0\]\.model: unknown model 'shop'/,
  ],
  [["model", "set", "x"], { targets: ["gpt-4.1"], weight: 1 }, /^standard input: .*weight/],
  [["model", "set"], {}, /^NAME is missing$/],
];
for (const [argv, input, message] of wrong) {
  Deno.test(`'${argv.join(" ")}' with ${JSON.stringify(input)} is wrong usage`, async () => {
    const { exitCode, lines } = await admin(argv, input);
    assert.equal(exitCode, 2);
    assert.match(lines[0]!, message);
  });
}

Deno.test("the commands answer what was set, list it, and the audit log has who did it", async () => {
  await admin(["account", "create", "--name", "shown"]);
  const made = await admin(["model", "set", "own", "--account", "shown"], shop);
  const { created_at, updated_at, ...json } = made.json as Record<string, unknown>;
  const accountId = json.account_id;
  assert.deepEqual(json, { account_id: accountId, name: "own", ...shop });
  assert.ok(Date.parse(String(created_at)) <= Date.parse(String(updated_at)));
  const listed = (await admin(["model", "list", "--account", "shown"])).json;
  assert.deepEqual(listed, [{ ...json, created_at, updated_at }]);
  const all = (await admin(["model", "list"])).json as Record<string, unknown>[];
  const { created_at: never, ...ofService } = all[0]!;
  assert.equal(never, null);
  assert.deepEqual(ofService, { account_id: null, name: "shop", ...shop, updated_at: null });
  assert.deepEqual(
    (await admin(["model", "remove", "own", "--account", "shown"])).json,
    { account_id: accountId, name: "own", removed: true },
  );
});

Deno.test("a changed file counts within five seconds; a wrong one changes nothing", async () => {
  await Deno.writeTextFile(path, JSON.stringify({ fresh: { targets: ["gpt-4.1"] }, shop }));
  const changedMs = performance.now();
  while ((await ask("fresh")).status !== 200) {
    assert.ok(performance.now() - changedMs < promisedMs(5000), "not within five seconds");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  await Deno.writeTextFile(path, JSON.stringify({ fresh: { targets: ["gpt-4"] } }));
  const said = () => service().log.find((line) => line.includes("MODELS_FILE is invalid"));
  while (!said()) {
    assert.ok(performance.now() - changedMs < 30_000, "the log says nothing");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  assert.match(said()!, /fresh\.targets\[0\]\.model: unknown model 'gpt-4'/);
  assert.deepEqual(seen((await ask("fresh")).row), ["fresh", "vendor-b", "gpt-4.1"]);
});
