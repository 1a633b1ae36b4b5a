import assert from "@std/assert";
import { systemClock } from "../base/clock.ts";
import { createRegistry } from "../vendors/registry.ts";
import { commandLineAt } from "./command.ts";
import { adminDepsOf } from "./deps.ts";
import { type ExportDeps, runExport } from "./export_command.ts";
import { priceCheck } from "./price_check_command.ts";
import { priceCommands } from "./price_commands.ts";
import type { PriceCommandDeps } from "./price_commands_deps.ts";
import { repriceBy } from "./reprice_command.ts";

Deno.test("an account's credit waits for the records of that account only", async () => {
  const flushed: unknown[] = [];
  const credit = { balanceNanos: 5n, reservedNanos: 0n };
  const services = {
    registry: createRegistry({}, []),
    flushRecords: (options: unknown) => Promise.resolve(void flushed.push(options)),
    ledger: { show: () => Promise.resolve(credit) },
  };
  const { showCredit } = adminDepsOf(services as unknown as Parameters<typeof adminDepsOf>[0]);
  assert.deepEqual(await showCredit(7), credit);
  assert.deepEqual(flushed, [{ timeoutMs: Infinity, accountId: 7 }]);
});

Deno.test("a command waits only for the records that it reads", async () => {
  const flushed: unknown[] = [];
  const account = { id: 7, name: "team" };
  const deps = {
    accounts: {
      find: () => Promise.resolve(account),
      first: () => Promise.resolve(account),
      page: () => Promise.resolve([account, { id: 8, name: "other" }]),
    },
    clock: systemClock,
    openPrices: () => Promise.resolve({ registry: createRegistry({}, []), close() {} }),
    priceVersions: { find: () => Promise.resolve(undefined) },
    archivePrices: () => Promise.resolve(),
    flushRecords: (options: unknown) => {
      flushed.push(options);
      return Promise.reject(new Error("the command ends here"));
    },
  };
  const prices = deps as unknown as PriceCommandDeps;
  const by = commandLineAt(systemClock);
  const endsHere = /the command ends here/;
  await assert.rejects(
    Array.fromAsync(runExport(deps as unknown as ExportDeps, ["--account", "team"], false)),
    endsHere,
  );
  await assert.rejects(repriceBy(prices, { account: "team" }, by), endsHere);
  await assert.rejects(repriceBy(prices, {}, by), endsHere);
  await assert.rejects(priceCheck(prices, {}), endsHere);
  await assert.rejects(
    Promise.resolve(priceCommands["prices show"]!.run(prices, {}, ["v"], "")),
    /No price has the version 'v'/,
  );
  const timeoutMs = Infinity;
  assert.deepEqual(flushed, [
    { timeoutMs, accountId: 7 },
    { timeoutMs, accountId: 7 },
    { timeoutMs },
    { timeoutMs, freeOnly: true },
  ]);
});
