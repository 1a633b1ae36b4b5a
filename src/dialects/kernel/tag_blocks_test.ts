import assert from "@std/assert";
import { withoutTags } from "./tag_blocks.ts";

Deno.test("tag lines are cut where they stand, and the given body stays as it was", () => {
  const body = {
    messages: [{ content: "/// APP a\nhi" }, { content: [{ text: "/// FLOW f\nq" }] }],
  };
  const before = structuredClone(body);
  const cut = withoutTags(body, [
    { path: ["messages", 0, "content"], units: 10 },
    { path: ["messages", 1, "content", 0, "text"], units: 11 },
  ]);
  assert.deepEqual(cut, { messages: [{ content: "hi" }, { content: [{ text: "q" }] }] });
  assert.deepEqual(body, before);
  assert.equal(withoutTags(body, []), body);
});
