import assert from "@std/assert";
import { isErrorReason, readFinishReason } from "./finish_reason.ts";

/** Raw reason → without and with tool calls seen. */
const reasons: [
  string,
  ReturnType<typeof readFinishReason>,
  ReturnType<typeof readFinishReason>,
][] = [
  ["stop", "stop", "tool_calls"],
  ["length", "length", "length"],
  ["tool_calls", "stop", "tool_calls"],
  ["content_filter", "content_filter", "content_filter"],
  ["function_call", "stop", "tool_calls"],
  ["eos", "stop", "tool_calls"],
  ["end_turn", "stop", "tool_calls"],
  ["insufficient_system_resource", "error", "error"],
  ["abort", "error", "error"],
  ["max_tokens", "length", "length"],
  ["MAX_TOKENS", "length", "length"],
  ["model_length", "length", "length"],
  ["safety", "content_filter", "content_filter"],
  ["tool_use", "stop", "tool_calls"],
  ["error", "error", "error"],
  ["server_error", "error", "error"],
];
for (const [raw, plain, withTools] of reasons) {
  Deno.test(`'${raw}' ends an answer as ${plain}, after tool calls as ${withTools}`, () => {
    assert.equal(readFinishReason(raw, false), plain);
    assert.equal(readFinishReason(raw, true), withTools);
    assert.equal(isErrorReason(raw), plain === "error");
  });
}

Deno.test("no reason is no error", () => {
  for (const raw of [null, undefined, "", 7]) assert.equal(isErrorReason(raw), false);
});
