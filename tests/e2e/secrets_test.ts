import assert from "@std/assert";
import { runAdminHere } from "../support/admin.ts";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { type ServiceProcess, startService } from "../support/process.ts";
import { createMigrated, kindsOfThisRun } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { temporaryDirectory } from "../support/service_files.ts";

/** What must be nowhere but in the database and on its way to the vendor. */
const canaries = {
  prompt: "canary-of-a-prompt",
  answer: "canary-of-an-answer",
  vendorKey: "sk-canary-of-the-service",
  ownVendorKey: "sk-canary-of-the-caller",
  metricsToken: "canary-of-the-metrics",
  wrongKey: "dmt_canary0of0a0wrong0key0000000000000000000000000000",
} as const;

const { available, reason } = postgresAvailability();

for (const kind of kindsOfThisRun()) {
  const runs = kind === "embedded" || available;
  Deno.test({
    name: `no key and no word of a prompt is in the log or in a file beside the database (${kind}${
      runs ? "" : `; skipped: ${reason}`
    })`,
    ignore: !runs,
    fn: () => search(kind),
  });
}

async function search(kind: "embedded" | "postgres"): Promise<void> {
  const directory = temporaryDirectory("secrets");
  const database = kind === "postgres" ? await createMigrated() : undefined;
  await using vendor = await startFakeVendor(answer);
  const env = {
    DATA_DIR: directory,
    VENDOR_B_BASE_URL: `${vendor.url}/v1`,
    VENDOR_B_API_KEY: canaries.vendorKey,
    METRICS_TOKEN: canaries.metricsToken,
    IDLE_TIMEOUT_MS: "500",
    ...(database ? { DATABASE_URL: database.url } : {}),
  };
  const service = await startService({ env });
  await service.printed(/shown only once[^]*Try it:[^]*curl[^\n]*\n/);
  const greeting = service.output().length;
  const key = service.firstKey;
  const calls = await provoke(service, key);
  const made = await runAdminHere({ args: ["key", "create", "--name", "x", "--json"], env });
  const secondKey = JSON.parse(made.stdout).key as string;
  // The control file's token is for its owner alone; that it is not in the log matters.
  const control = JSON.parse(await Deno.readTextFile(`${directory}/control.json`)).token as string;
  const stored = await exported(service, key);
  assert.equal(await service.stop(), 0);
  const log = service.output().slice(greeting);
  assert.ok(log.split("\n").length > calls, "the calls are in the log");
  const files = await filesBeside(directory);
  const secrets = { ...canaries, key, secondKey, control, password: "test-password" };
  for (const [name, secret] of Object.entries(secrets)) {
    assert.ok(!log.includes(secret), `${name} is in the log`);
    for (const [path, text] of files) assert.ok(!text.includes(secret), `${name} is in ${path}`);
  }
  // The search can find something: the database holds what it should, and no key.
  assert.ok(stored.includes(canaries.prompt) && stored.includes(canaries.answer));
  assert.ok(!stored.includes("dmt_") && !stored.includes("sk-canary"));
  await database?.drop();
}

/** Calls of every kind, good and bad; gives how many. */
async function provoke(service: ServiceProcess, key: string): Promise<number> {
  const path = "/openai/v1/chat/completions";
  const bearer = (value: string) => ({ authorization: `Bearer ${value}` });
  const own = `${key};${canaries.ownVendorKey}`;
  const body = (how: string, more: Record<string, unknown> = {}) =>
    JSON.stringify({
      model: "gpt-4.1",
      messages: [
        { role: "system", content: `/// APP shop\n${canaries.prompt}` },
        { role: "user", content: `${how} ${canaries.prompt}` },
      ],
      ...more,
    });
  const posts: [path: string, headers: Record<string, string>, body: string][] = [
    [path, bearer(key), body("whole")],
    [path, bearer(key), body("stream", { stream: true })],
    [path, bearer(own), body("whole")],
    [path, bearer(own), body("stream", { stream: true })],
    ...["echo-400", "echo-401", "echo-500", "echo-200", "html", "cut", "hang", "midstream"]
      .flatMap((how): typeof posts => [
        [path, bearer(key), body(how)],
        [path, bearer(own), body(how, { stream: true })],
      ]),
    [path, bearer(key), `{"model": "${canaries.prompt}" oops`],
    [path, bearer(key), `"${canaries.prompt}"`],
    [path, bearer(key), body("whole", { stream: canaries.prompt })],
    [path, bearer(key), body("whole").replace('"gpt-4.1"', '"gpt-4.1","model":"gpt-4.1"')],
    ["/chat/v1/chat/completions", bearer(key), body("no provider")],
    [path, bearer(canaries.wrongKey), body("whole")],
    [`${path}?api_key=${key}`, {}, body("whole")],
    [`/no/${canaries.prompt}?api_key=${key}`, bearer(key), body("whole")],
    ["/api/v1/exports", bearer(key), `{"start_date":"${canaries.prompt}"}`],
  ];
  for (const [at, headers, text] of posts) {
    const answer = await fetch(service.baseUrl + at, { method: "POST", headers, body: text });
    await answer.text().catch(() => {});
  }
  const gets: [path: string, headers: Record<string, string>][] = [
    ["/metrics", bearer(canaries.metricsToken)],
    ["/api/v1/status", { cookie: `key=${key}` }],
    ["/chat/v1/models", bearer(own)],
  ];
  for (const [at, headers] of gets) await (await fetch(service.baseUrl + at, { headers })).text();
  return posts.length + gets.length;
}

/** A vendor that repeats what it received, in the places where vendors do. */
async function answer(
  exchange: Parameters<NonNullable<Parameters<typeof startFakeVendor>[0]>>[0],
): Promise<void> {
  const { headers, body } = exchange.request;
  const how = /"user","content":"(\S+)/.exec(body)?.[1] ?? "whole";
  const repeated = `You said: ${canaries.prompt} with ${headers.authorization}`;
  const error = { error: { message: repeated, type: repeated, code: canaries.prompt } };
  const status = /^echo-(\d+)/.exec(how)?.[1];
  const choice = { index: 0, finish_reason: "stop" };
  const words = { role: "assistant", content: canaries.answer };
  if (status !== undefined) return await exchange.answer(Number(status), error);
  if (how === "html") return await exchange.answer(200, `<html>${repeated}</html>`);
  if (!/"stream":true/.test(body) && how !== "cut" && how !== "hang") {
    return await exchange.answer(200, { choices: [{ ...choice, message: words }] });
  }
  await exchange.head(200, { "content-type": "text/event-stream" });
  const event = (value: unknown) => exchange.write(`data: ${JSON.stringify(value)}\n\n`);
  await event({ choices: [{ index: 0, delta: words }] });
  if (how === "hang") return;
  if (how === "cut") return exchange.cut();
  await event(how === "midstream" ? error : { choices: [{ ...choice, delta: {} }] });
  await exchange.write("data: [DONE]\n\n");
  await exchange.end();
}

async function exported(service: ServiceProcess, key: string): Promise<string> {
  const rows = await fetch(`${service.baseUrl}/api/v1/exports`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ start_date: "2020-01-01T00:00:00Z" }),
  });
  return await rows.text();
}

/** Path and text of every file of the data directory that is not the database's. */
async function filesBeside(directory: string): Promise<[string, string][]> {
  const found: [string, string][] = [];
  for await (const entry of Deno.readDir(directory)) {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory && entry.name !== "database") found.push(...await filesBeside(path));
    if (entry.isFile) found.push([path, await Deno.readTextFile(path)]);
  }
  return found;
}
