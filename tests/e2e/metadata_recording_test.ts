/** Calls of which only metadata is recorded leave no content anywhere (interface.md §9). */
import assert from "@std/assert";
import { type EchoVendor, startEchoVendor } from "../support/echo_vendor.ts";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { filesWith } from "../support/files_with.ts";
import { createMigrated } from "../support/databases.ts";
import { dumpDatabase, postgresAvailability } from "../support/postgres.ts";
import { anyDatabase } from "../support/any_database.ts";
import { startService } from "../support/process.ts";
import { calls, type Environment, startTestService, type TestService } from "../support/service.ts";
import { within } from "../support/within.ts";

const { available, reason } = postgresAvailability();
/** 10 tokens in and 5 out cost 0.00002 USD. */
const price = { "vendor-f/m": { input: "1", output: "2" } };
const cost = "0.000020000";

interface World extends AsyncDisposable {
  vendor: EchoVendor;
  env: Environment;
}

async function world(more: Environment = {}): Promise<World> {
  const vendor = await startEchoVendor();
  // Refuses, and quotes what it refuses.
  const refusing = await startFakeVendor(({ answer, request: { body } }) =>
    answer(400, { error: { message: `Not this: ${body.slice(0, 500)}`, type: "invalid" } })
  );
  const pricesFile = await Deno.makeTempFile({ suffix: ".json" });
  await Deno.writeTextFile(pricesFile, JSON.stringify(price));
  return {
    vendor,
    env: {
      VENDOR_F_BASE_URL: `${vendor.url}/v1`,
      VENDOR_F_API_KEY: "sk-of-the-service",
      VENDOR_B_BASE_URL: `${refusing.url}/v1`,
      VENDOR_B_API_KEY: "sk-of-the-service-b",
      PRICES_FILE: pricesFile,
      ...more,
    },
    async [Symbol.asyncDispose]() {
      await vendor.close();
      await refusing.close();
      await Deno.remove(pricesFile);
    },
  };
}

const metadata = { "x-record": "metadata" };

interface Sent {
  path: string;
  body: Record<string, unknown>;
  headers?: Record<string, string>;
}

/** Calls in each form that keeps something otherwise: text, turns, repeats, tools, cache. */
function forms(word: string): Sent[] {
  const chat = { model: "vendor-f/m", messages: [{ role: "user", content: `say ${word}` }] };
  const path = "/chat/v1/chat/completions";
  const long = {
    ...chat,
    messages: [{ role: "user", content: `${word} ${"x ".repeat(200_000)}` }],
  };
  return [
    { path, body: chat },
    { path, body: { ...chat, stream: true } },
    { path, body: long },
    { path, body: chat, headers: { "x-request-id": `repeat-${word.length}` } },
    { path, body: { ...chat, stream: true }, headers: { "x-request-id": `stream-${word.length}` } },
    { path, body: chat, headers: { "x-cache-ttl": "600" } },
    { path: "/chat/v1/responses", body: { model: "vendor-f/m", input: word } },
    {
      path: "/chat/v1/messages",
      body: { model: "vendor-f/m", max_tokens: 9, messages: chat.messages },
    },
    {
      path: "/chat/v1/models/vendor-f%2Fm:generateContent",
      body: { contents: [{ role: "user", parts: [{ text: word }] }] },
    },
  ];
}

async function charged(service: TestService): Promise<bigint> {
  const { json } = await service.admin("credits", "show");
  return -BigInt((json as { balance_usd: string }).balance_usd.replace(".", ""));
}

async function leavesNothing(
  env: Environment,
  look: (words: readonly string[], control: string) => Promise<void>,
) {
  const word = `secret-${crypto.randomUUID()}`;
  const control = `control-${crypto.randomUUID()}`;
  await using at = await world(env);
  await using service = await startTestService({ env: at.env, database: "embedded" });
  const { key } = await service.createKey("--record", "metadata");
  const ids: string[] = [];
  for (const [by, headers] of [["key", { authorization: `Bearer ${key}` }], ["call", metadata]]) {
    for (const form of forms(`${word}-${by}`)) {
      const before = await charged(service);
      const answer = await service.post(form.path, form.body, {
        ...headers as Record<string, string>,
        ...form.headers,
      });
      const text = await answer.text();
      assert.equal(answer.status, 200, text);
      assert.ok(text.includes(word), "the caller gets its answer");
      assert.equal(answer.headers.get("x-cache"), null, "the cache has no part in it");
      ids.push(answer.headers.get("x-transaction-id")!);
      // The price of one call, to the nano-dollar.
      await service.rows({ transaction_id: ids.at(-1) });
      assert.equal(await charged(service) - before, 20_000n, form.path);
    }
  }
  const failed = await service.post("/vendor-b/v1/chat/completions", {
    model: "gpt-4.1",
    messages: [{ role: "user", content: word }],
  }, metadata);
  assert.equal(failed.status, 400);
  assert.ok((await failed.text()).includes(word), "the caller sees what the vendor said");
  const failedRow = await service.row(failed.headers.get("x-transaction-id"));
  assert.deepEqual([failedRow.status, failedRow.http_status], ["failed", 400]);
  const plain = await service.post("/chat/v1/chat/completions", {
    model: "vendor-f/m",
    messages: [{ role: "user", content: control }],
  });
  await plain.text();
  for (const id of ids) {
    const row = await service.row(id);
    assert.deepEqual([row.request, row.response, row.cost_usd, row.charged_usd, row.cache], [
      ...[null, null, cost, cost, null],
    ]);
    assert.deepEqual([row.input_tokens, row.output_tokens, row.status, row.payload_truncated], [
      ...[10, 5, "completed", false],
    ]);
  }
  const csv = await (await service.post("/api/v1/exports", {
    start_date: "2020-01-01T00:00:00Z",
    format: "csv",
  })).text();
  assert.ok(csv.includes(control) && !csv.includes(word));
  assert.ok(!service.log.join("\n").includes(word), "in the log");
  await look([word], control);
  assert.deepEqual(await filesWith(service.dataDir, [word]), []);
  if (env.DATABASE_URL === undefined) {
    assert.notDeepEqual(await filesWith(service.dataDir, [control]), [], "the search finds text");
  }
}

Deno.test("metadata calls leave no prompt and no answer on disk or in exports (embedded)", () =>
  leavesNothing({}, () => Promise.resolve()));

Deno.test({
  name: available
    ? "metadata calls leave no prompt and no answer in a dump (postgres)"
    : `metadata calls leave no prompt and no answer in a dump (postgres; skipped: ${reason})`,
  ignore: !available,
  async fn() {
    const database = await createMigrated();
    try {
      await leavesNothing({ DATABASE_URL: database.url }, async (words, control) => {
        const dump = await dumpDatabase(database.url);
        assert.ok(dump.includes(control), "the dump shows what is there");
        for (const word of words) assert.ok(!dump.includes(word), "found in the dump");
      });
    } finally {
      await database.drop();
    }
  },
});

Deno.test("after a kill the journal has the row of a metadata call and nothing else", async () => {
  await using at = await world();
  const dataDir = await Deno.makeTempDir({ prefix: "metadata-" });
  await using database = await anyDatabase();
  const env = { ...at.env, ...database.env, DATA_DIR: dataDir };
  const [word, control] = ["secret", "control"].map((one) => `${one}-${crypto.randomUUID()}`);
  try {
    const ids: string[] = [];
    let key = "";
    {
      await using service = await startService({ env });
      key = service.firstKey;
      const { post } = calls({ baseUrl: service.baseUrl, key });
      const begin = async (content: string, user: string, headers = {}) => {
        at.vendor.hold(user);
        const body = { model: "vendor-f/m", stream: true, user };
        const messages = [{ role: "user", content }];
        const answer = await post("/chat/v1/chat/completions", { ...body, messages }, headers);
        // Its beginning has come; the rest never will.
        await answer.body!.getReader().read();
        ids.push(answer.headers.get("x-transaction-id")!);
      };
      await begin(word!, "held-1", metadata);
      await begin(control!, "held-2");
      // One that ended, whose record may wait.
      const ended = await post("/chat/v1/chat/completions", {
        model: "vendor-f/m",
        messages: [{ role: "user", content: word }],
      }, metadata);
      await ended.text();
      ids.push(ended.headers.get("x-transaction-id")!);
      Deno.kill(service.pid, "SIGKILL");
      await within(30_000, service.status);
    }
    assert.deepEqual(await filesWith(dataDir, [word!]), [], "killed in the middle");
    assert.notDeepEqual(await filesWith(`${dataDir}/journal`, [control!]), []);
    await using again = await startTestService({ env });
    const { row } = calls({ baseUrl: again.baseUrl, key });
    const [cut, plain, ended] = await Promise.all(ids.map((id) => row(id)));
    assert.deepEqual([cut!.status, cut!.request, cut!.response], ["interrupted", null, null]);
    assert.equal(plain!.status, "interrupted");
    assert.ok(JSON.stringify(plain!.request).includes(control!));
    assert.deepEqual([ended!.status, ended!.charged_usd, ended!.request], [
      "completed",
      cost,
      null,
    ]);
    await again.stop();
    assert.deepEqual(await filesWith(dataDir, [word!]), [], "after the restart");
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("a repeat of a metadata call waits while it runs, and is asked of the vendor then", async () => {
  await using at = await world();
  await using service = await startTestService({ env: at.env });
  const release = at.vendor.hold("held");
  const asked = () => at.vendor.requests.filter(({ body }) => body.includes('"held"')).length;
  const send = (user: string, headers = {}) =>
    service.post("/chat/v1/chat/completions", {
      ...{ model: "vendor-f/m", stream: true, user },
      messages: [{ role: "user", content: "x" }],
    }, { ...metadata, ...headers });
  const id = { "x-request-id": crypto.randomUUID() };
  const first = await send("held", id);
  const second = send("held", id);
  // Others that came later have their answers by now.
  for (let other = 0; other < 5; other++) await (await send("other")).text();
  assert.equal(asked(), 1);
  release();
  const texts = [await first.text(), await (await second).text()];
  for (const text of texts) assert.ok(text.includes("[DONE]"), text);
  assert.equal(asked(), 2);
  for (const answer of [first, await second]) {
    const row = await service.row(answer.headers.get("x-transaction-id"));
    assert.deepEqual([row.charged_usd, row.response], [cost, null]);
  }
});
