import assert from "@std/assert";
import { type Label, type Simulators, startSimulators } from "../../demo/simulators.ts";
import { anyDatabase } from "../support/any_database.ts";
import { createMigrated } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { startService } from "../support/process.ts";
import { isQuietMachine } from "../support/quiet.ts";
import {
  calls,
  type Environment,
  shared,
  simulatedEnvironment,
  startTestService,
} from "../support/service.ts";
import { PlainClient } from "./plain_client.ts";
import { at } from "./raw_calls.ts";
import type { Json } from "./wire.ts";

/** Vendors that refuse tool calls which come back without what they signed. */
const strict: readonly { label: Label; model: string; check(body: unknown): void }[] = [
  { label: "vendor-d", model: "gemini-3.8-flash", check: checkSignatures },
  { label: "vendor-e", model: "gemini-3.1-pro-preview", check: checkSignatures },
  { label: "vendor-c", model: "claude-haiku-4-5", check: checkThinking },
  { label: "vendor-c", model: "claude-opus-5", check: checkThinkingBlocks },
];

/** How the turns of a conversation with three rounds of tool calls finish. */
const finishes = ["tool_calls", "tool_calls", "tool_calls", "stop"];
const question = "[steps:3] What are the weather and the time in Paris?";

const world = shared(async () => {
  const started = await startWorld();
  const service = await started.start();
  const stop = async () => {
    await service.stop();
    await started[Symbol.asyncDispose]();
  };
  return { ...started, service, stop };
});

for (const { label, model, check } of strict) {
  for (const stream of [false, true]) {
    const how = stream ? "streamed" : "whole";
    Deno.test(`a plain chat client does three tool turns on ${label} ${model}, ${how}`, async () => {
      const { simulators, service } = world();
      const before = simulators.requests(label).length;
      const client = new PlainClient(`${label}/${model}`, question);
      for (const finish of finishes) {
        assert.equal(await client.turn({ url: service.baseUrl, key: service.key }, stream), finish);
      }
      assert.equal(new Set(client.callIds).size, 6, "two calls a turn, each with its own id");
      checkRequests(simulators, label, check, before);
    });
  }
}

Deno.test("another account gets nothing out of the vault", async () => {
  const { simulators, service } = world();
  const made = await service.admin("account", "create", "--name", "strangers");
  const account = String((made.json as { id: number }).id);
  const stranger = await service.createKey("--account", account);
  await service.admin("credits", "grant", "--usd", "5", "--account", account);
  const client = new PlainClient("vendor-c/claude-haiku-4-5", question);
  await client.turn({ url: service.baseUrl, key: service.key }, false);
  await client.turn({ url: service.baseUrl, key: stranger.key }, false);
  const body = simulators.requests("vendor-c").at(-1)!.body;
  assert.deepEqual(thinkingOf(body), [], "no thinking that the stranger did not send");
  // Thinking would be refused after a call without it, so this one request goes without.
  assert.equal(at(body, "thinking", "type"), "disabled");
});

Deno.test("tool turns go on after restarts of the service", async () => {
  await using world = await startWorld();
  const clients = strict.map(({ label, model }) => new PlainClient(`${label}/${model}`, question));
  const bodies: unknown[][] = strict.map(() => []);
  let key: string | undefined;
  for (const finish of finishes) {
    await using service = await world.start();
    key ??= service.key;
    for (const [index, client] of clients.entries()) {
      assert.equal(await client.turn({ url: service.baseUrl, key }, true), finish);
      bodies[index]!.push(world.simulators.requests(strict[index]!.label).at(-1)!.body);
    }
  }
  for (const [index, { check }] of strict.entries()) bodies[index]!.forEach(check);
});

const { available, reason } = postgresAvailability();
Deno.test({
  name: `tool turns go back and forth between two processes on one PostgreSQL${
    available ? "" : ` (skipped: ${reason})`
  }`,
  ignore: !available,
  fn: () => overTwoProcesses(),
});

async function overTwoProcesses(): Promise<void> {
  const database = await createMigrated();
  const masterKey = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
  const common = { DATABASE_URL: database.url, MASTER_KEY: masterKey };
  {
    await using world = await startWorld(common);
    await using first = await world.start();
    await using second = await startService({ env: { ...world.env, ...common } });
    const { key } = first;
    for (const { label, model, check } of strict) {
      const before = world.simulators.requests(label).length;
      const client = new PlainClient(`${label}/${model}`, question);
      for (const [turn, finish] of finishes.entries()) {
        const [here, there] = turn % 2 === 0 ? [first, second] : [second, first];
        const wanted = await countRows(there.baseUrl, key) + 1;
        assert.equal(await client.turn({ url: here.baseUrl, key }, true), finish);
        await untilRows(wanted, there.baseUrl, key);
      }
      checkRequests(world.simulators, label, check, before);
    }
  }
  await database.drop();
}

/** Another process's call shows within two seconds; on a busy machine it may take its time. */
async function untilRows(wanted: number, baseUrl: string, key: string): Promise<void> {
  const patienceMs = isQuietMachine() ? 2_000 : 30_000;
  const deadline = performance.now() + patienceMs;
  while (await countRows(baseUrl, key) < wanted) {
    assert.ok(
      performance.now() < deadline,
      `a row of the other process shows within ${patienceMs} ms`,
    );
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function countRows(baseUrl: string, key: string): Promise<number> {
  return (await calls({ baseUrl, key }).rows()).length;
}

/** Simulated vendors, and a data directory and a database that outlive services. */
async function startWorld(more: Environment = {}) {
  const simulators = await startSimulators();
  const dataDir = await Deno.makeTempDir({ prefix: "vault-" });
  const database = await anyDatabase();
  const env = { ...database.env, ...simulatedEnvironment(simulators) };
  return {
    simulators,
    env,
    start: () => startTestService({ env: { ...env, ...more, DATA_DIR: dataDir } }),
    async [Symbol.asyncDispose]() {
      await simulators.close();
      await database[Symbol.asyncDispose]();
      await Deno.remove(dataDir, { recursive: true });
    },
  };
}

function checkRequests(
  simulators: Simulators,
  label: Label,
  check: (body: unknown) => void,
  from: number,
): void {
  const bodies = simulators.requests(label).slice(from).filter(({ method }) => method === "POST")
    .map(({ body }) => body);
  assert.equal(bodies.length, 4);
  for (const body of bodies) check(body);
}

/** The first call of each step has its own signature, and not the one that stands for none. */
function checkSignatures(body: unknown): void {
  const turns = (at(body, "contents") as Json[])
    .map(({ parts }) => (parts as Json[]).filter((part) => part.functionCall))
    .filter((called) => called.length > 0);
  for (const [first, second] of turns) {
    assert.match(String(first!.thoughtSignature), /^[A-Za-z0-9+/]{40,}=*$/);
    assert.equal(second!.thoughtSignature, undefined, "parallel calls are signed once");
  }
  const signatures = turns.map(([first]) => first!.thoughtSignature);
  assert.ok(!signatures.includes("skip_thought_signature_validator"));
}

function checkThinking(body: unknown): void {
  assert.equal(at(body, "thinking", "type"), "enabled", "thinking stays on");
  checkThinkingBlocks(body);
}

/** Each answer with calls begins with its signed thinking. */
function checkThinkingBlocks(body: unknown): void {
  const answers = (at(body, "messages") as Json[]).filter(({ role }) => role === "assistant");
  for (const { content } of answers) {
    const [first, ...others] = content as Json[];
    assert.equal(first!.type, "thinking");
    assert.ok(String(first!.signature).length > 40);
    assert.deepEqual(others.map(({ type }) => type).slice(-2), ["tool_use", "tool_use"]);
  }
}

function thinkingOf(body: unknown): Json[] {
  return (at(body, "messages") as Json[]).flatMap(({ content }) => content as Json[])
    .filter((block) => /thinking/.test(String(block.type)));
}
