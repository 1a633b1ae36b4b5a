import assert from "@std/assert";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import { encodeStream } from "../../../../tests/support/responses_fixtures.ts";
import { responsesEvents, type WireEvent } from "../../../../tests/support/grammar/events.ts";

const events: CanonicalEvent[] = [
  { type: "start", id: "x", model: "m", created: 1 },
  ...block(0, { kind: "reasoning" }),
  ...block(1, { kind: "text" }),
  ...block(2, { kind: "tool-call", id: "c", name: "f", custom: false }),
  { type: "finish", choice: 0, reason: "tool_calls", raw: "x" },
];

function block(number: number, content: object): CanonicalEvent[] {
  return [
    { type: "block-start", choice: 0, block: number, content } as CanonicalEvent,
    { type: "block-delta", choice: 0, block: number, text: "some" },
    { type: "block-delta", choice: 0, block: number, text: " words" },
    { type: "block-end", choice: 0, block: number },
  ];
}

function textOf(wire: readonly WireEvent[], renumber: boolean): string {
  return wire.map((event, index) => {
    const data = renumber ? { ...event, sequence_number: index } : event;
    return `event: ${event.type}\ndata: ${JSON.stringify(data)}\n\n`;
  }).join("");
}

const good = responsesEvents(encodeStream(events));

Deno.test("the grammar's checker takes a good stream and none with a gap in its numbers", () => {
  responsesEvents(textOf(good, false));
  assert.throws(() => responsesEvents(textOf(good.toSpliced(3, 1), false)));
});

Deno.test("the grammar's checker refuses a missing, a doubled and a misplaced event", () => {
  for (const [index, event] of good.entries()) {
    const next = good[index + 1];
    const broken = [
      good.toSpliced(index, 1),
      good.toSpliced(index, 0, event),
      ...(next ? [good.toSpliced(index, 2, next, event)] : []),
    ];
    for (const [kind, wire] of broken.entries()) {
      assert.throws(() => responsesEvents(textOf(wire, true)), `${kind} at ${event.type}`);
    }
  }
});
