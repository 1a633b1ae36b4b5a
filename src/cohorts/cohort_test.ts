import assert from "@std/assert";
import { sha256Hex } from "../base/hash.ts";
import { outcomeHash, outcomeValues } from "./cohort.ts";
import { Fault } from "../shared/fault.ts";

function valuesOf(...numbers: readonly string[]): bigint[] {
  const items = numbers.map((number) =>
    `{"type": "revenue", "value": ${number}, "label": "value"}`
  );
  return outcomeValues(`{"cohort_id": "c", "conversions": [${items}]}`);
}

Deno.test("values are exactly those of the text, to the billionth", () => {
  assert.deepEqual(valuesOf("0.1", "0.2", "12.5", "-3", "1e3", "1.5E-8", "0", "-0"), [
    100_000_000n,
    200_000_000n,
    12_500_000_000n,
    -3_000_000_000n,
    1_000_000_000_000n,
    15n,
    0n,
    0n,
  ]);
  // As a double it would be …864.
  assert.deepEqual(valuesOf("999999999.123456789"), [999_999_999_123_456_789n]);
});

Deno.test("an item's value is found under its name, whatever was parsed before", () => {
  const body = (name: string) => `{"conversions":[{"outcome":1,"${name}":0.50}]}`;
  const seen = [1, 2].map(() => JSON.parse(body("\\\\u007")) as unknown);
  assert.deepEqual(outcomeValues(body("\\u0076alue")), [500_000_000n]);
  assert.equal(seen.length, 2);
});

Deno.test("what a caller's arithmetic left beyond nine decimals is rounded, half away from zero", () => {
  assert.deepEqual(
    valuesOf("0.30000000000000004", "0.0000000005", "-0.0000000005", "0.00000000049", "1e-12"),
    [300_000_000n, 1n, -1n, 0n, 0n],
  );
});

Deno.test("a number of absurd length names its field", () => {
  const digits = `0.${"1".repeat(100)}`;
  assert.throws(
    () => valuesOf("1", digits),
    (thrown: unknown) => thrown instanceof Fault && thrown.param === "conversions[1].value",
  );
});

Deno.test("two posts are the same only when they say the same of the same cohort", () => {
  const item = {
    type: "clicks",
    label: null,
    valueNanos: 1n,
    itemId: null,
    transactionId: null,
    sessionId: null,
  };
  const one = outcomeHash({ cohortId: "a", items: [item] });
  assert.equal(one, outcomeHash({ cohortId: "a", items: [{ ...item }] }));
  const others = [
    { cohortId: "b", items: [item] },
    { cohortId: "a", items: [item, item] },
    { cohortId: "a", items: [{ ...item, type: "revenue" }] },
    { cohortId: "a", items: [{ ...item, label: "" }] },
    { cohortId: "a", items: [{ ...item, valueNanos: 2n }] },
    { cohortId: "a", items: [{ ...item, itemId: "1" }] },
    { cohortId: "a", items: [{ ...item, transactionId: "1" }] },
    { cohortId: "a", items: [{ ...item, sessionId: "1" }] },
  ].map(outcomeHash);
  assert.equal(new Set([one, ...others]).size, 9);
  // A process of the release before knows a repeat by the same hash.
  assert.equal(one, sha256Hex('["a",[["clicks",null,"1",null]]]'));
});
