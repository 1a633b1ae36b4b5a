import assert from "@std/assert";
import type { Row, TestService } from "./service.ts";

/**
 * What the rows of many calls must say. They are read in one export after the last of the calls:
 * reading a call's row right after it takes longer than the call, since a batch is written for it.
 */
export class RowChecks {
  readonly #checks = new Map<string, { what: string; check: (row: Row) => void }>();

  /** `what` is the call, for the message of a failure. */
  expect(answer: Pick<Response, "headers">, what: string, check: (row: Row) => void): void {
    const id = answer.headers.get("x-transaction-id");
    if (id === null) throw new Error(`${what}: the answer names no transaction`);
    this.#checks.set(id, { what, check });
  }

  /** Registers the test that checks them; to be called behind the tests that make the calls. */
  register(service: () => Pick<TestService, "rows">, calls = "these calls"): void {
    Deno.test(`each of ${calls} has one row, which says what it must`, async () => {
      const byId = Map.groupBy(await service().rows(), (row) => String(row.transaction_id));
      for (const [id, { what, check }] of this.#checks) {
        const [row, ...others] = byId.get(id) ?? [];
        if (!row || others.length > 0) throw new Error(`${what}: none or several rows`);
        try {
          check(row);
        } catch (thrown) {
          throw new Error(what, { cause: thrown });
        }
      }
      assert.ok(this.#checks.size > 0, "no call was made");
    });
  }
}
