import assert from "@std/assert";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import { FakeClock } from "../base/clock.ts";
import { createLog } from "../base/log.ts";
import type { SettledCall } from "../shared/interaction.ts";
import { storablePart, StoredBytes } from "./stored_bytes.ts";

const medium = { sha256: "0".repeat(64), mimeType: "image/png", content: new Uint8Array(500) };
const long = "x".repeat(100_000);
const row = (id: string, more: Partial<SettledCall> = {}) =>
  interactionRow(id, { accountId: 1, status: "completed", requestText: "asked", ...more });

Deno.test("a call that failed before an answer leaves no media, one that was answered does", () => {
  const failed = { status: "failed", responseText: null, media: [medium] } as const;
  const stored = storablePart(row("a", { ...failed, errorCode: "upstream_error" }));
  assert.deepEqual([stored.media, stored.payloadTruncated], [undefined, true]);
  assert.equal(stored.requestText, "asked");
  for (const more of [{ status: "completed" }, { responseText: "half an answer" }] as const) {
    const kept = row("b", { ...failed, ...more });
    assert.equal(storablePart(kept), kept);
  }
});

Deno.test("of a request that the vendor's door refused the beginning stays", () => {
  const failed = { status: "failed", responseText: null, requestText: long } as const;
  const lengthOf = (errorCode: SettledCall["errorCode"]) =>
    storablePart(row("a", { ...failed, errorCode })).requestText?.length;
  assert.deepEqual(
    [
      lengthOf("invalid_vendor_api_key"),
      lengthOf("upstream_forbidden"),
      lengthOf("upstream_error"),
    ],
    [64 * 1024, 64 * 1024, long.length],
  );
});

Deno.test("beyond an account's daily bytes rows lose their payloads, nothing else, and that is logged once", () => {
  const lines: string[] = [];
  const clock = new FakeClock();
  const log = createLog((line) => lines.push(line), () => clock.now());
  const room = new StoredBytes({ perDay: 250_000, clock, log });
  const store = (...rows: SettledCall[]) => {
    const fitted = room.fit(rows);
    fitted.stored();
    return fitted.rows;
  };
  const rows = [1, 2, 3, 4].map((at) => row(`call-${at}`, { requestText: long, chargedNanos: 7n }));
  room.fit(rows);
  const [first, second, third] = store(...rows.slice(0, 3));
  assert.deepEqual([first, second], rows.slice(0, 2), "what was not stored before doesn't count");
  assert.deepEqual(third, { ...rows[2], requestText: long.slice(0, 4096), payloadTruncated: true });
  assert.equal(store({ ...rows[3]!, media: [medium] })[0]!.media, undefined);
  assert.equal(store(row("small", { media: [medium] }))[0]!.media?.length, 1, "there is room");
  const other = row("other", { accountId: 2, requestText: long });
  assert.deepEqual(store(other), [other]);
  assert.deepEqual([room.cut, lines.length], [2, 1]);
  assert.match(lines[0]!, /account=1\b/);
  clock.advance(24 * 60 * 60 * 1000);
  assert.deepEqual(store(rows[3]!), [rows[3]]);
});
