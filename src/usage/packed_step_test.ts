import assert from "@std/assert";
import { createHash } from "node:crypto";
import type { LabelStep } from "./label_step.ts";
import { packStep, readRecord, recordBytes, recordSums, unpackRanks } from "./packed_step.ts";

const at = new Date(Date.UTC(2026, 8, 1));
const edges = [0, 1, 255, 256, 65_536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 40, 2 ** 53 - 1];

function stepOf(values: readonly string[], sums: LabelStep["sums"]): LabelStep {
  const ids = values.flatMap((value) =>
    [...createHash("sha256").update(value).digest()].slice(0, 8)
  );
  return { at, ids: Uint8Array.from(ids), values, sums };
}

/** What a packed step says of each value, by its name. */
function unpacked(step: LabelStep) {
  const { ranks, layout, records, names } = packStep(step);
  const { ids, sums: { calls, costNanos, more } } = unpackRanks(ranks);
  const length = recordBytes(layout);
  const all = Array.from(calls, (_, at) => {
    const { sums, name } = readRecord(layout, records, at * length);
    const value = new TextDecoder().decode(names.subarray(name.from, name.from + name.length));
    const added = more.get(at) ?? { calls: 0, costNanos: 0 };
    const ranked = [calls[at]! + added.calls, costNanos[at]! + added.costNanos];
    return [value, {
      ranked,
      others: [...sums],
      id: [...ids.subarray(2 * at, 2 * at + 2)],
    }] as const;
  });
  return new Map(all);
}

Deno.test("a step says the same of each value when it is unpacked, of numbers of any size", () => {
  const values = ["", "a", "Grüße 漢字 🎉", 'with "quotes"\n', "x".repeat(300), ..."defgh"];
  const step = stepOf(values, {
    ...{ calls: edges, costNanos: edges.toReversed(), failed: edges.map(() => 0) },
    ...{ inputTokens: edges, ownKeyNanos: edges.toReversed() },
  });
  const found = unpacked(step);
  const words = new Uint32Array(step.ids.buffer);
  for (const [nth, value] of values.entries()) {
    const others = recordSums.map((sum) => step.sums[sum]?.[nth] ?? 0);
    assert.deepEqual(found.get(value), {
      ...{ ranked: [edges[nth], edges.toReversed()[nth]], others },
      id: [...words.subarray(2 * nth, 2 * nth + 2)],
    });
  }
  assert.equal(found.size, values.length);
});

Deno.test("a step without calls is packed too, and zeros take no byte of a record", () => {
  assert.equal(unpacked(stepOf([], {})).size, 0);
  const { layout, records } = packStep(stepOf(["a", "b"], { calls: [3, 4], failed: [0, 0] }));
  assert.equal(recordBytes(layout), 2, "where the name begins, and its length");
  assert.equal(records.length, 4);
});

Deno.test("anything but sums of calls is not packed", () => {
  for (const one of [-1, 0.5, 2 ** 53, NaN]) {
    for (const sum of ["calls", "inputTokens"] as const) {
      assert.throws(() => packStep(stepOf(["a"], { [sum]: [one] })), /is no sum/);
    }
  }
});
