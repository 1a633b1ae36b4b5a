import assert from "@std/assert";
import type { Row } from "./service.ts";

/** An answer as a caller of the response cache sees it. */
export interface CachedReply {
  status: number;
  cache: string | null;
  age: string | null;
  transaction: string;
  type: string | null;
  body: Uint8Array;
  text: string;
}

export async function cachedReply(response: Response): Promise<CachedReply> {
  const { status, headers } = response;
  const body = new Uint8Array(await response.arrayBuffer());
  return {
    status,
    cache: headers.get("x-cache"),
    age: headers.get("age"),
    transaction: headers.get("x-transaction-id") ?? "",
    type: headers.get("content-type"),
    body,
    text: new TextDecoder().decode(body),
  };
}

/** Asserts that the second answer is the first one from the cache, byte for byte. */
export function assertHit(first: CachedReply, second: CachedReply): void {
  assert.deepEqual([second.status, second.cache], [200, "HIT"]);
  assert.match(second.age ?? "", /^\d+$/);
  assert.deepEqual(second.body, first.body);
  assert.equal(second.type, first.type);
  assert.notEqual(second.transaction, first.transaction);
}

/** Returns the usage and money of a call's row, to compare with `hitMoney`. */
export function moneyOf(row: Row): readonly unknown[] {
  return [
    ...[row.status, row.cache, row.billing_basis, row.cost_usd, row.charged_usd],
    ...[row.input_tokens, row.output_tokens, row.total_tokens, row.usage_raw],
  ];
}

export const hitMoney = [
  ...["completed", "hit", "none", "0.000000000", "0.000000000"],
  ...[null, null, null, null],
];
