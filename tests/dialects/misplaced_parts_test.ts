/** A part that its message can't hold is refused by its path: encoders would leave it out silently. */
import assert from "@std/assert";
import { Fault } from "../../src/shared/fault.ts";
import { assistant, call, calls, decode, hello, result, user } from "./crossing.ts";
import type { Name } from "./translated.ts";

const refusal = [{ type: "refusal", refusal: "No." }];
const called = { type: "tool_use", id: "a", name: "f", input: {} };
const returned = { type: "tool_result", tool_use_id: "a", content: "1" };

const rows: [path: string, from: Name, body: Record<string, unknown>][] = [
  ["messages[0].content[0].type", "chat", { messages: [user(refusal)] }],
  ["messages[2].content[0].type", "chat", {
    messages: [...hello, calls(call("a")), result("a", refusal)],
  }],
  ["input[0].content[0].type", "responses", { input: [user(refusal)] }],
  ["input[1].output[0].type", "responses", {
    input: [
      { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "a", output: refusal },
    ],
  }],
  ["messages[1].content[1].type", "messages", {
    messages: [...hello, assistant([called, returned]), user("Go on.")],
  }],
];

for (const [path, from, body] of rows) {
  Deno.test(`${from}: a part at ${path} that can't be there is refused`, () => {
    assert.throws(
      () => decode(from, { max_tokens: 9, ...body }),
      (thrown: unknown) =>
        thrown instanceof Fault && thrown.code === "invalid_value" && thrown.param === path,
    );
  });
}
