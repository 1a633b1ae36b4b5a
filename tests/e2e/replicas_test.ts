import assert from "@std/assert";
import { runAdminHere } from "../support/admin.ts";
import { startSimulators } from "../../demo/simulators.ts";
import { startService } from "../support/process.ts";
import { createMigrated } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { promisedMs } from "../support/quiet.ts";
import { startTestService } from "../support/service.ts";

const { available, reason } = postgresAvailability();
const skipped = available ? "" : ` (skipped: ${reason})`;

Deno.test({
  name:
    `replicas that start at once on an empty PostgreSQL print one key, which all take${skipped}`,
  ignore: !available,
  fn: () =>
    withDatabase(async (env) => {
      const services = await Promise.all([1, 2, 3].map(() => startService({ env })));
      const printed = services.filter((one) => /dmt_/.test(one.output()));
      assert.equal(printed.length, 1, "one key in all");
      const key = printed[0]!.firstKey;
      for (const one of services) assert.equal(await statusOf(one, key), 200);
      for (const one of services) assert.equal(await one.stop(), 0);
    }),
});

Deno.test({
  name:
    `a key that the command line revokes is refused by every replica within one second${skipped}`,
  ignore: !available,
  fn: () =>
    withDatabase(async (env) => {
      const first = await startTestService({ env });
      const second = await startTestService({ env });
      for (let round = 0; round < 3; round++) {
        const made = await admin(env, ["key", "create", "--name", `key ${round}`]);
        const { id, key } = made as { id: string; key: string };
        // Both have it in memory, as after a busy day.
        for (const one of [first, second]) assert.equal(await statusOf(one, key), 200);
        const watching = [first, second].map((one) => refusedAt(one, key));
        const [, ...refusals] = await Promise.all([
          admin(env, ["key", "revoke", id]),
          ...watching,
        ]);
        // The command's own end is later than the revocation: what it takes is not allowed for.
        const revoked = await revokedAt(env, id);
        for (const at of refusals) {
          const tookMs = at - revoked;
          assert.ok(tookMs < promisedMs(1000), `refused ${tookMs} ms after the revocation`);
        }
      }
      await Promise.all([first.stop(), second.stop()]);
    }),
});

Deno.test({
  name: `a key that was revoked while a process stood still is refused by its first call${skipped}`,
  ignore: !available,
  fn: () =>
    withDatabase(async (env) => {
      const service = await startService({ env });
      for (let round = 0; round < 3; round++) {
        const made = await admin(env, ["key", "create", "--name", `key ${round}`]);
        const { id, key } = made as { id: string; key: string };
        assert.equal(await statusOf(service, key), 200);
        service.kill("SIGSTOP");
        await admin(env, ["key", "revoke", id]);
        // What stands still for less learns of the key by its next refresh.
        await new Promise((resolve) => setTimeout(resolve, 2_500));
        const call = statusOf(service, key);
        service.kill("SIGCONT");
        assert.equal(await call, 401);
      }
      assert.equal(await service.stop(), 0);
    }),
});

Deno.test({
  name: `a call made on one replica is seen by an export on the other within two seconds${skipped}`,
  ignore: !available,
  fn: () =>
    withDatabase(async (env) => {
      const simulators = await startSimulators();
      const { baseUrl, apiKey } = simulators.vendors["vendor-b"];
      const vendor = { VENDOR_B_BASE_URL: baseUrl, VENDOR_B_API_KEY: apiKey };
      const first = await startTestService({ env: { ...env, ...vendor } });
      const second = await startTestService({ env });
      const headers = { authorization: `Bearer ${first.key}` };
      const answer = await fetch(`${first.baseUrl}/openai/v1/chat/completions`, {
        method: "POST",
        headers,
        body: JSON.stringify({ model: "gpt-4.1", messages: [{ role: "user", content: "Hi" }] }),
      });
      await answer.text();
      const answered = performance.now();
      for (;;) {
        const rows = await fetch(`${second.baseUrl}/api/v1/exports`, {
          method: "POST",
          headers,
          body: JSON.stringify({ start_date: "2020-01-01T00:00:00Z" }),
        }).then((one) => one.json());
        if (rows.length === 1) break;
        assert.ok(performance.now() - answered < promisedMs(2000), "not within two seconds");
      }
      await Promise.all([first.stop(), second.stop()]);
      await simulators.close();
    }),
});

async function withDatabase(
  work: (env: Record<string, string>) => Promise<void>,
): Promise<void> {
  const database = await createMigrated();
  try {
    await work({ DATABASE_URL: database.url });
  } finally {
    await database.drop();
  }
}

async function statusOf(service: { readonly baseUrl: string }, key: string): Promise<number> {
  const answer = await fetch(`${service.baseUrl}/api/v1/status`, {
    headers: { authorization: `Bearer ${key}` },
  });
  await answer.text();
  return answer.status;
}

/** Calls without a pause until the key is refused; the Unix time in milliseconds when it was. */
async function refusedAt(service: { readonly baseUrl: string }, key: string): Promise<number> {
  const deadline = performance.now() + 60_000;
  while (await statusOf(service, key) === 200) {
    assert.ok(performance.now() < deadline, "the key is never refused");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return Date.now();
}

async function admin(env: Record<string, string>, args: string[]): Promise<unknown> {
  const { code, stdout, stderr } = await runAdminHere({
    args: [...args, "--json"],
    env,
  });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

/** When the database says that the key was revoked. */
async function revokedAt(env: Record<string, string>, id: string): Promise<number> {
  const keys = await admin(env, ["key", "list"]) as { id: string; revoked_at: string }[];
  return Date.parse(keys.find((one) => one.id === id)!.revoked_at);
}
