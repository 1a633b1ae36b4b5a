import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import type { Account, AccountStore } from "../keys/account.ts";
import type { ApiKey, ApiKeyStore } from "../keys/api_key.ts";
import { OptionError } from "../shared/fault.ts";
import { UsageError, usageOf } from "./command.ts";
import { tierCommands } from "./tier_command.ts";

function setup(start: Partial<Account> = {}) {
  const account: Account = {
    ...{ id: 2, name: "team", tier: "free", requestsPerMinute: 60, burst: 100 },
    createdAt: new Date(0),
    ...start,
  };
  const evicted: string[] = [];
  const accounts = {
    find: (idOrName: string) => Promise.resolve(idOrName === "team" ? account : undefined),
    setTier: async (id: number, change: (old: Account) => Partial<Account>) =>
      id === account.id ? await Object.assign(account, change(account)) : undefined,
  } as AccountStore;
  const apiKeys = {
    page: () => Promise.resolve([{ id: "k1" }, { id: "k2" }] as ApiKey[]),
  } as unknown as ApiKeyStore;
  const run = (tier: string, values: Record<string, string> = {}, who = "team") =>
    tierCommands["account tier"]!.run(
      {
        ...{ accounts, apiKeys, clock: new FakeClock() },
        keysChanged: (ids) => void evicted.push(...ids),
      },
      values,
      [who, tier],
      "",
    );
  return { run, account, evicted };
}

Deno.test("a tier brings its numbers, and the keys of the account are read again", async () => {
  const { run, evicted } = setup();
  assert.deepEqual(await run("pro"), {
    exitCode: 0,
    json: { id: 2, name: "team", tier: "pro", requests_per_minute: 600, burst: 1000 },
    lines: ["Account 'team' is now pro: 600 requests per minute, burst 1000."],
  });
  assert.deepEqual(evicted, ["k1", "k2"]);
});

Deno.test("enterprise takes its numbers, and keeps those it has", async () => {
  const { run, account } = setup();
  await run("enterprise", { rpm: "5000", burst: "9000" });
  assert.deepEqual([account.requestsPerMinute, account.burst], [5000, 9000]);
  await run("enterprise");
  assert.deepEqual([account.requestsPerMinute, account.burst], [5000, 9000]);
  await run("enterprise", { burst: "1" });
  assert.deepEqual([account.requestsPerMinute, account.burst], [5000, 1]);
});

const wrong: [string, Record<string, string>, RegExp][] = [
  ["gold", {}, /'gold' is not a tier/],
  [
    "free",
    { rpm: "9" },
    /^--rpm: the limits of free are fixed; only those of enterprise can be set$/,
  ],
  ["enterprise", {}, /^--rpm: required; enterprise needs rpm and burst$/],
  ["enterprise", { rpm: "9" }, /^--burst: required; /],
  ["enterprise", { rpm: "0", burst: "9" }, /--rpm 0: expected a whole number from 1/],
  ["enterprise", { rpm: "9", burst: "1e9" }, /--burst 1e9/],
  ["enterprise", { rpm: "100000001", burst: "9" }, /--rpm 100000001/],
];

Deno.test("wrong words change nothing", async () => {
  const { run, account, evicted } = setup();
  for (const [tier, values, message] of wrong) {
    await assert.rejects(
      run(tier, values),
      (refused: unknown) => {
        const thrown = refused instanceof OptionError ? usageOf(refused) : refused;
        return thrown instanceof UsageError && message.test(thrown.message);
      },
      `${tier} ${JSON.stringify(values)}`,
    );
  }
  await assert.rejects(run("pro", {}, "nobody"), /No account has the id or name 'nobody'/);
  assert.deepEqual([account.tier, evicted], ["free", []]);
});
