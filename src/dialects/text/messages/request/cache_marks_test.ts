import assert from "@std/assert";
import { finish } from "../../../../base/steps.ts";
import { setMarks } from "./cache_marks.ts";

const text = (words: number) => ({ type: "text", text: "word ".repeat(words) });

function marked(messages: Record<string, unknown>[], least: number): number[] {
  finish(setMarks({ messages }, least));
  return messages.flatMap(({ content }, at) =>
    (content as Record<string, unknown>[]).some((block) => "cache_control" in block) ? [at] : []
  );
}

Deno.test("the turn before is marked again once more blocks follow it than the vendor looks back", () => {
  const run = (results: number) => [
    { role: "user", content: [text(2_000)] },
    { role: "assistant", content: Array.from({ length: results }, () => text(3)) },
    { role: "user", content: Array.from({ length: results }, () => text(3)) },
  ];
  assert.deepEqual(marked(run(2), 1_000), [2]);
  assert.deepEqual(marked(run(15), 1_000), [0, 2]);
  assert.deepEqual(marked(run(15), 10_000), []);
});
