import assert from "@std/assert";
import { runAdminHere } from "../support/admin.ts";
import { type FakeVendor, startFakeVendor } from "../support/fake_vendor.ts";
import { createMigrated } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { runProgram, startService } from "../support/process.ts";
import { promisedMs } from "../support/quiet.ts";
import { startTestService } from "../support/service.ts";

const stored = "sk-canary-of-a-stored-key-4f1d";
const google = "AIza-canary-of-a-stored-key-77c2";
const own = "sk-canary-of-the-dual-form-0a1b";
const [firstMaster, secondMaster, thirdMaster] = [1, 2, 3].map((letter) =>
  btoa(String(letter).repeat(32))
) as [string, string, string];

type Environment = Record<string, string>;

/** What is sealed goes by standard input, as the program has it. */
async function admin(env: Environment, words: string, input = ""): Promise<unknown> {
  return await adminBy(runAdminHere, env, words, input);
}

/** The whole way, once for each command. */
function adminByProgram(env: Environment, words: string, input: string): Promise<unknown> {
  return adminBy((options) => runProgram({ script: "admin.ts", ...options }), env, words, input);
}

async function adminBy(
  run: typeof runAdminHere,
  env: Environment,
  words: string,
  input: string,
): Promise<unknown> {
  const ended = await run({ args: [...words.split(" "), "--json"], env, input });
  assert.equal(ended.code, 0, `${words}: ${ended.stdout}${ended.stderr}`);
  assert.ok(!/canary/.test(ended.stdout + ended.stderr), "a key is never shown");
  return JSON.parse(ended.stdout);
}

/** A vendor that takes any key but those that are called wrong. */
function startVendor(): Promise<FakeVendor> {
  return startFakeVendor(async (exchange) => {
    const { headers, path } = exchange.request;
    if (headers.authorization?.includes("wrong")) {
      return await exchange.answer(401, {
        error: { message: `Incorrect API key: ${headers.authorization}` },
      });
    }
    await exchange.answer(
      200,
      path.includes(":generateContent")
        ? { candidates: [{ content: { parts: [{ text: "hi" }] }, finishReason: "STOP" }] }
        : {
          choices: [{
            index: 0,
            finish_reason: "stop",
            message: { role: "assistant", content: "hi" },
          }],
          usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 },
        },
    );
  });
}

/** A service as a program, or in this process, which starts in a fraction of the time. */
interface Service {
  readonly baseUrl: string;
}

interface Called {
  status: number;
  code: string | undefined;
  /** The credential that the vendor saw last. */
  seen: string | undefined;
}

async function call(
  service: Service,
  vendor: FakeVendor,
  key: string,
  family = "openai",
  model = "gpt-4.1",
): Promise<Called> {
  const answer = await fetch(`${service.baseUrl}/${family}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }] }),
  });
  const text = await answer.text();
  assert.ok(!text.includes("canary"), "no key is in an answer");
  const { authorization, "x-goog-api-key": googleKey } = vendor.requests.at(-1)?.headers ?? {};
  return {
    status: answer.status,
    code: JSON.parse(text).error?.code,
    seen: googleKey ?? authorization?.replace("Bearer ", ""),
  };
}

const good = (seen: string): Called => ({ status: 200, code: undefined, seen });

interface Running {
  env: Environment;
  vendor: FakeVendor;
  service: Service;
  key: string;
}

async function useKeys(t: Deno.TestContext, { env, vendor, service, key }: Running): Promise<void> {
  await t.step("managed, then stored, then dual-key by the call", async () => {
    assert.deepEqual(await call(service, vendor, key), good("sk-the-service"));
    const set = await adminByProgram(env, "vendor-key set --vendor vendor-b", `${stored}\n`);
    assert.deepEqual(set, { account_id: 1, vendor: "vendor-b", last_four: "4f1d" });
    assert.deepEqual(await call(service, vendor, key), good(stored));
    assert.deepEqual(await call(service, vendor, `${key};${own}`), good(own));
  });
  await t.step("a stored key needs no managed one, and serves vendor-e from vendor-d", async () => {
    const before = await call(service, vendor, key, "gemini", "gemini-2.5-pro");
    assert.deepEqual([before.status, before.code], [404, "vendor_not_configured"]);
    await admin(env, "vendor-key set --vendor google", google);
    assert.deepEqual(await call(service, vendor, key, "gemini", "gemini-2.5-pro"), good(google));
  });
  await t.step("another account has none", async () => {
    await admin(env, "account create --name team");
    const made = await admin(env, "key create --name x --account team") as { key: string };
    const called = await call(service, vendor, made.key);
    assert.ok(called.seen === "sk-the-service" || called.status === 402, JSON.stringify(called));
  });
  await t.step(
    "the vendor's refusal of a stored key is reported as the caller's to fix",
    async () => {
      await admin(env, "vendor-key set --vendor vendor-b", "sk-canary-wrong-0123");
      const { status, code } = await call(service, vendor, key);
      assert.deepEqual([status, code], [401, "invalid_vendor_api_key"]);
      await admin(env, "vendor-key set --vendor vendor-b", stored);
    },
  );
  await t.step("records name the mode and charge nothing", async () => {
    const answer = await fetch(`${service.baseUrl}/api/v1/exports`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({
        start_date: "2020-01-01T00:00:00Z",
        filters: { status: "completed" },
      }),
    });
    const rows = await answer.json() as { mode: string; charged_usd: string; cost_usd: string }[];
    const modes = new Set(rows.map(({ mode }) => mode));
    assert.deepEqual(modes, new Set(["managed", "stored_key", "dual_key"]));
    for (const { mode, charged_usd, cost_usd } of rows) {
      if (mode !== "managed") assert.equal(Number(charged_usd), 0);
      if (cost_usd !== null) assert.ok(Number(cost_usd) > 0);
    }
    assert.ok(!JSON.stringify(rows).includes("canary"));
  });
}

Deno.test("a stored key is used, survives a rotation of the master key and a restart, and is in no file", async (t) => {
  const directory = await Deno.makeTempDir({ prefix: "gateway-vendor-keys-" });
  await using vendor = await startVendor();
  const env: Environment = {
    DATA_DIR: directory,
    VENDOR_B_BASE_URL: `${vendor.url}/v1`,
    VENDOR_B_API_KEY: "sk-the-service",
    VENDOR_D_BASE_URL: `${vendor.url}/v1beta`,
  };
  const program = await startService({ env });
  const key = program.firstKey;
  await useKeys(t, { env, vendor, service: program, key });
  await t.step("rotation while it runs, then a restart", async () => {
    const rotated = await adminByProgram(env, "master-key rotate", secondMaster);
    assert.deepEqual(rotated, { resealed: 2, already: false, source: "file" });
    assert.deepEqual(await call(program, vendor, key), good(stored));
    assert.equal(await program.stop(), 0);
    assert.equal((await Deno.readTextFile(`${directory}/master.key`)).trim(), secondMaster);
  });
  const again = await startTestService({ env });
  await t.step("after the restart, too, until it is removed", async () => {
    assert.deepEqual(await call(again, vendor, key), good(stored));
    const listed = await admin(env, "vendor-key list") as { vendor: string }[];
    assert.deepEqual(listed.map((one) => one.vendor), ["vendor-b", "vendor-d"]);
    await admin(env, "vendor-key remove --vendor vendor-b");
    assert.deepEqual(await call(again, vendor, key), good("sk-the-service"));
  });
  await again.stop();
  await t.step("another master key stops the start; with the right one it goes on", async () => {
    await isRefused({ ...env, MASTER_KEY: firstMaster }, /^MASTER_KEY is not the master key .*$/);
    await using service = await startTestService({ env: { ...env, MASTER_KEY: secondMaster } });
    const called = await call(service, vendor, key, "gemini", "gemini-2.5-pro");
    assert.deepEqual(called, good(google));
  });
  const log = program.output() + again.log.join("\n");
  assert.ok(!log.includes("canary") && !log.includes(secondMaster), "nothing is in the log");
  for await (const path of filesBelow(directory)) {
    const text = new TextDecoder("latin1").decode(await Deno.readFile(path));
    assert.ok(!text.includes("canary"), `a key is in ${path}`);
  }
  await Deno.remove(directory, { recursive: true });
});

const { available, reason } = postgresAvailability();

Deno.test({
  name: `processes learn of stored keys within a second, and of a rotation${
    available ? "" : ` (skipped: ${reason})`
  }`,
  ignore: !available,
  fn: async () => {
    const database = await createMigrated();
    await using vendor = await startVendor();
    const env: Environment = {
      DATABASE_URL: database.url,
      MASTER_KEY: firstMaster,
      VENDOR_B_BASE_URL: `${vendor.url}/v1`,
    };
    const first = await startTestService({ env });
    const second = await startTestService({ env });
    const { key } = first;
    await usedWithin(second, vendor, key, undefined);
    await admin(env, "vendor-key set --vendor vendor-b", stored);
    for (const service of [first, second]) await usedWithin(service, vendor, key, stored);

    await isRefused(
      { ...env, MASTER_KEY: thirdMaster },
      /^MASTER_KEY is not .*: set MASTER_KEY to .*$/,
    );

    const rotated = await admin(env, "master-key rotate", secondMaster);
    assert.deepEqual(rotated, { resealed: 1, already: false, source: "environment" });
    const again = await admin(env, "master-key rotate", secondMaster);
    assert.deepEqual(again, { resealed: 0, already: true, source: "environment" });
    for (const service of [first, second]) {
      await logs(service, / error vendor keys are now sealed under another MASTER_KEY/);
      await usedWithin(service, vendor, key, stored);
    }
    const third = await startTestService({ env: { ...env, MASTER_KEY: secondMaster } });
    await usedWithin(third, vendor, key, stored);
    await admin(env, "vendor-key remove --vendor vendor-b");
    for (const service of [first, second, third]) await usedWithin(service, vendor, key, undefined);
    for (const service of [first, second, third]) {
      await service.stop();
      assert.ok(!/canary/.test(service.log.join("\n")));
    }
    await database.drop();
  },
});

/** A start that fails; as a program it says the same behind `error: `, and exits with 1. */
async function isRefused(env: Environment, message: RegExp): Promise<void> {
  await assert.rejects(startTestService({ env }), { message });
}

async function logs(service: { readonly log: readonly string[] }, line: RegExp): Promise<void> {
  const until = performance.now() + 60_000;
  while (!service.log.some((one) => line.test(one))) {
    assert.ok(performance.now() < until, `no line ${line}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Fails unless calls go with this key, or with none at all, a second from now at the latest. */
async function usedWithin(
  service: Service,
  vendor: FakeVendor,
  key: string,
  expected: string | undefined,
): Promise<void> {
  const until = performance.now() + promisedMs(1000);
  for (;;) {
    const called = await call(service, vendor, key);
    const used = called.status === 200 ? called.seen : undefined;
    if (used === expected) return;
    assert.ok(performance.now() < until, `${used?.slice(-4)} in place of ${expected?.slice(-4)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function* filesBelow(directory: string): AsyncGenerator<string> {
  for await (const entry of Deno.readDir(directory)) {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory) yield* filesBelow(path);
    else if (entry.isFile) yield path;
  }
}
