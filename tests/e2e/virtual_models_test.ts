import assert from "@std/assert";
import { startSimulators } from "../../demo/simulators.ts";
import { runAdminHere } from "../support/admin.ts";
import { createMigrated } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { runProgram, startService } from "../support/process.ts";
import { promisedMs } from "../support/quiet.ts";
import { startTestService } from "../support/service.ts";

type Environment = Record<string, string>;

/** A service as a program, or in this process. */
interface Service {
  readonly baseUrl: string;
}

/** The vendor's model that a call went to; its error code where it was refused. */
async function sentTo(service: Service, key: string, model: string): Promise<string> {
  const answer = await fetch(`${service.baseUrl}/chat/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages: [{ role: "user", content: "Rivers?" }] }),
  });
  const { model: sent, error } = await answer.json();
  return error?.code ?? sent;
}

/** Calls until the model leads there; how long that took, in ms. */
async function waitFor(
  service: Service,
  key: string,
  model: string,
  expected: string,
): Promise<void> {
  const beganMs = performance.now();
  for (;;) {
    const sent = await sentTo(service, key, model);
    if (sent === expected) return;
    const ms = performance.now() - beganMs;
    assert.ok(
      ms < promisedMs(5000),
      `${model} leads to ${sent} after ${ms} ms, not to ${expected}`,
    );
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function vendorEnvironment() {
  const simulators = await startSimulators();
  const { baseUrl, apiKey } = simulators.vendors["vendor-b"];
  const env: Environment = { VENDOR_B_BASE_URL: baseUrl, VENDOR_B_API_KEY: apiKey };
  return { env, close: () => simulators.close() };
}

const { available, reason } = postgresAvailability();

Deno.test({
  name: `processes learn of virtual models that a command sets and removes within five seconds${
    available ? "" : ` (skipped: ${reason})`
  }`,
  ignore: !available,
  fn: async () => {
    const database = await createMigrated();
    const vendor = await vendorEnvironment();
    const env = { ...vendor.env, DATABASE_URL: database.url };
    const admin = async (args: string[], input = "") => {
      const ended = await runAdminHere({ args: [...args, "--json"], env, input });
      assert.equal(ended.code, 0, ended.stdout + ended.stderr);
      return JSON.parse(ended.stdout);
    };
    const first = await startTestService({ env });
    const second = await startTestService({ env });
    const { key } = first;
    const both = async (model: string, expected: string) => {
      await Promise.all([first, second].map((one) => waitFor(one, key, model, expected)));
    };
    try {
      assert.equal(await sentTo(first, key, "fast"), "model_not_found");
      const set = await admin(["model", "set", "fast"], '{"targets": ["gpt-4.1"]}');
      assert.deepEqual(set.targets, [{ model: "gpt-4.1", weight: 1 }]);
      await both("fast", "gpt-4.1");
      await admin(["model", "set", "fast"], '{"targets": ["openai/gpt-5-mini"]}');
      await both("fast", "gpt-5-mini");
      const third = await startTestService({ env });
      assert.equal(await sentTo(third, key, "fast"), "gpt-5-mini", "from its first call on");
      await third.stop();
      await admin(["model", "remove", "fast"]);
      await both("fast", "model_not_found");
    } finally {
      await Promise.all([first.stop(), second.stop()]);
      await vendor.close();
      await database.drop();
    }
  },
});

Deno.test("the program reads the value from standard input, and MODELS_FILE again on SIGHUP", async () => {
  const directory = await Deno.makeTempDir({ prefix: "gateway-virtual-models-" });
  const file = `${directory}/models.json`;
  const write = (model: string) =>
    Deno.writeTextFile(file, JSON.stringify({ ours: { targets: [model] } }));
  await write("gpt-4.1");
  const vendor = await vendorEnvironment();
  const env: Environment = { ...vendor.env, DATA_DIR: `${directory}/data`, MODELS_FILE: file };
  const service = await startService({ env });
  const key = service.firstKey;
  try {
    assert.equal(await sentTo(service, key, "ours"), "gpt-4.1");
    for (const model of ["gpt-5-mini", "gpt-4o-mini", "gpt-4.1"]) {
      await write(model);
      service.kill("SIGHUP");
      await waitFor(service, key, "ours", model);
    }
    const args = ["model", "set", "mine", "--json"];
    const ended = await runProgram({
      ...{ script: "admin.ts", args, env, input: '{"targets": ["gpt-4.1"]}\n' },
    });
    assert.equal(ended.code, 0, ended.stdout + ended.stderr);
    assert.equal(JSON.parse(ended.stdout).name, "mine");
    assert.equal(await sentTo(service, key, "mine"), "gpt-4.1", "at once");
    assert.equal(await service.stop(), 0);
    await using again = await startTestService({ env });
    assert.equal(await sentTo(again, key, "mine"), "gpt-4.1", "it is stored");
  } finally {
    await service.stop();
    await vendor.close();
    await Deno.remove(directory, { recursive: true });
  }
});
