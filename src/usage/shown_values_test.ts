import assert from "@std/assert";
import { Turns } from "../base/turns.ts";
import type { LabelSumStore } from "./label_sums.ts";
import { packStep, unpackRanks } from "./packed_step.ts";
import { type HeldSums, ShownValues } from "./shown_values.ts";
import { ValueSlots } from "./value_slots.ts";

const users = 1_500;
const days = 4;

Deno.test("sums of many values are added up in short turns, between which other work runs", async () => {
  const ids = new Uint32Array(users * 2).map((_, at) => at);
  const packed = packStep({
    at: new Date(0),
    ids: new Uint8Array(ids.buffer),
    values: Array.from({ length: users }, (_, n) => `user ${n}`),
    sums: { calls: Array(users).fill(1), inputTokens: Array.from({ length: users }, (_, n) => n) },
  });
  const store: LabelSumStore = {
    read: () => Promise.reject(new Error("ranks are held")),
    slices: (_, column, slices) => Promise.resolve(slices.map(() => packed[column])),
  };
  const slots = new ValueSlots();
  const ranks = unpackRanks(packed.ranks);
  const steps = Array.from({ length: days }, (_, day): HeldSums => ({
    ...{ atMs: day, slots: slots.slotsOf(ranks.ids), sums: ranks.sums },
    rest: {
      ...{ accountId: 1, label: "user", span: "day", at: new Date(day), state: "" },
      ...{ isStored: true, layout: packed.layout, all: undefined, records: new Map() },
    },
  }));
  // Each look at this clock ends a turn.
  let ms = 0;
  const turns = new Turns({ monotonicMs: () => ms++ });
  let otherWork = 0;
  let isRead = false;
  const work = () => {
    otherWork++;
    if (!isRead) setImmediate(work);
  };
  setImmediate(work);
  const shown = Array.from({ length: users }, (_, slot) => slot);
  const values = await new ShownValues(store, slots, steps, shown, turns).read();
  isRead = true;
  assert.equal(values?.length, users);
  for (const { value, calls, inputTokens } of values ?? []) {
    assert.deepEqual([`user ${inputTokens / 4n}`, days], [value, calls]);
  }
  // Records by five hundred, then names and values by as many.
  const least = days * users / 500 + 2 * users / 500;
  assert.ok(otherWork >= least, `${otherWork} times`);
});
