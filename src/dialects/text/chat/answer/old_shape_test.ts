import assert from "@std/assert";
import { asksOldShape, inOldShape, oldFinish } from "./old_shape.ts";

Deno.test("only functions without tools ask for the old shape", () => {
  assert.ok(asksOldShape({ functions: [] }));
  for (const body of [{}, { tools: [] }, { functions: [], tools: [] }, { functions: "x" }, null]) {
    assert.ok(!asksOldShape(body), JSON.stringify(body));
  }
});

Deno.test("the first call stands in the old place, under the old finish", () => {
  const call = (name: string) => ({
    id: `call_${name}`,
    type: "function",
    function: { name, arguments: "{}" },
  });
  const message = { role: "assistant", content: null, refusal: null };
  const choice = {
    index: 0,
    message: { ...message, tool_calls: [call("f"), call("g")] },
    finish_reason: "tool_calls",
  };
  assert.deepEqual(inOldShape({ id: "c", choices: [choice] }), {
    id: "c",
    choices: [{
      index: 0,
      message: { ...message, function_call: { name: "f", arguments: "{}" } },
      finish_reason: "function_call",
    }],
  });
});

Deno.test("an answer without calls has nothing of the old shape", () => {
  const choice = { index: 0, message: { content: "hi" }, finish_reason: "stop" };
  assert.deepEqual(inOldShape({ choices: [choice] }), { choices: [choice] });
  assert.deepEqual([oldFinish("length"), oldFinish(null)], ["length", null]);
});
