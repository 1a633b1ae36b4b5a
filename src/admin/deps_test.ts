import assert from "@std/assert";
import { createRegistry } from "../vendors/registry.ts";
import { adminDepsOf } from "./deps.ts";

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
