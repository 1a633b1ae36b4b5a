import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import { finish } from "../base/steps.ts";
import { chat } from "../dialects/text/chat/mod.ts";
import type { SettledCall } from "../shared/interaction.ts";
import { storedForm, storePayloads } from "./truncate_payloads.ts";

const rules = {
  payloadMaxBytes: 1000,
  mediaInlineBytes: 100,
  mediaFields: { chat: chat.mediaFields },
};
const url = `data:image/png;base64,${Buffer.alloc(5000, 1).toString("base64")}`;
const requestText = JSON.stringify({ messages: [{ content: [{ image_url: { url } }] }] });

Deno.test("the payload's limit counts what is left when media is taken out", () => {
  const row = interactionRow("t", { requestText, status: "completed" });
  const stored = finish(storedForm(row, rules));
  assert.equal(stored.payloadTruncated, false);
  assert.ok(stored.requestText!.length < 1000);
  JSON.parse(stored.requestText!);
  assert.equal(stored.media?.length, 1);
});

Deno.test("text without media is cut at the limit and marked", () => {
  const stored = finish(
    storedForm(interactionRow("t", { responseText: `"${"x".repeat(2000)}"` }), rules),
  );
  assert.equal(stored.responseText!.length, 1000);
  assert.equal(stored.payloadTruncated, true);
  assert.equal(stored.media, undefined);
});

Deno.test("doing it twice changes nothing", () => {
  const row = interactionRow("t", { requestText, responseText: "x".repeat(2000) });
  const once = finish(storedForm(row, rules));
  assert.deepEqual(finish(storedForm(once, rules)), once);
});

Deno.test("rows of a dialect without media fields are cut all the same", () => {
  const stored = finish(storedForm(interactionRow("t", { dialect: "other", requestText }), rules));
  assert.equal(stored.payloadTruncated, true);
});

Deno.test("a batch goes in one piece, and large payloads a portion at a time", async () => {
  const pieces: (readonly SettledCall[])[] = [];
  const store = storePayloads({
    insert: (rows) => Promise.resolve(void pieces.push(rows)),
  }, rules);
  await store.insert(Array.from({ length: 500 }, (_, n) => interactionRow(`t${n}`)));
  assert.deepEqual(pieces.splice(0).map(({ length }) => length), [500]);
  const large = "x".repeat(3 * 1024 * 1024);
  await store.insert(
    Array.from({ length: 5 }, (_, n) => interactionRow(`t${n}`, { requestText: large })),
  );
  assert.deepEqual(pieces.splice(0).map(({ length }) => length), [2, 2, 1]);
  await store.insert([]);
  assert.deepEqual(pieces, []);
});

Deno.test("a row's payloads are searched for media in steps", async () => {
  const rows: SettledCall[] = [];
  let readings = 0;
  const store = storePayloads({ insert: (some) => Promise.resolve(void rows.push(...some)) }, {
    ...rules,
    payloadMaxBytes: 10_000_000,
  }, { clock: { monotonicMs: () => readings++ } });
  const numbers = `[${"1,".repeat(1024 * 1024)}1]`;
  const row = interactionRow("t", { requestText: numbers, responseText: numbers });
  await store.insert([row]);
  assert.deepEqual(rows, [{ ...row, payloadTruncated: false }]);
  // Each pause between two steps reads the clock.
  const steps = 2 * Math.floor(numbers.length / (256 * 1024));
  assert.ok(readings > steps, `${readings}`);
});
