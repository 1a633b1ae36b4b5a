import assert from "@std/assert";
import type { CanonicalEvent } from "./canonical.ts";
import { ShownUsage, shownUsage } from "./shown_usage.ts";
import { foldEvents } from "./fold.ts";

Deno.test("estimated usage counts words and arguments, not media, streamed as whole", () => {
  const at = (block: number) => ({ choice: 0, block });
  const image = { kind: "media", media: "image", mimeType: "image/png", id: undefined } as const;
  const events: CanonicalEvent[] = [
    { type: "block-start", ...at(0), content: { kind: "text" } },
    { type: "block-delta", ...at(0), text: "12345" },
    { type: "block-end", ...at(0) },
    { type: "block-start", ...at(1), content: image },
    { type: "block-delta", ...at(1), text: "AAAA".repeat(100) },
    { type: "block-end", ...at(1) },
    {
      type: "block-start",
      ...at(2),
      content: { kind: "tool-call", id: "a", name: "f", custom: false },
    },
    { type: "block-delta", ...at(2), text: "{}" },
    { type: "block-end", ...at(2) },
  ];
  const streamed = new ShownUsage(7);
  assert.deepEqual(streamed.final, { input: 7, output: 0 });
  for (const event of events) streamed.listen(event);
  assert.deepEqual(streamed.final, { input: 7, output: 2 });
  assert.deepEqual(shownUsage(foldEvents(events), 7), streamed.final);
  const reported = { type: "usage", usage: { input: 9, output: 3 } } as const;
  streamed.listen(reported);
  assert.deepEqual(streamed.final, reported.usage);
  assert.deepEqual(shownUsage(foldEvents([...events, reported]), 7), streamed.final);
  for (const unreported of ["input", "output"] as const) {
    const half = { input: 9, output: 3, [unreported]: 0 };
    const event = { type: "usage", usage: { ...half, unreported } } as const;
    streamed.listen(event);
    assert.deepEqual(streamed.final, { ...half, [unreported]: unreported === "input" ? 7 : 2 });
    assert.deepEqual(shownUsage(foldEvents([...events, event]), 7), streamed.final);
  }
});
