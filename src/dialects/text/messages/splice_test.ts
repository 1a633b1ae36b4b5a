import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { Fault } from "../../../shared/fault.ts";
import { messages } from "./mod.ts";

function spliced(bodyText: string, model = "claude-y"): string {
  const facts = messages.readRequest(JSON.parse(bodyText));
  return finish(messages.spliceRequest(bodyText, facts, { model, askStreamUsage: true }));
}

Deno.test("the gateway learns model, stream, bound, end user and tags of both texts", () => {
  const facts = messages.readRequest({
    model: "vendor-c/claude-x",
    stream: true,
    max_tokens: 9,
    metadata: { user_id: "u" },
    system: [{ type: "text", text: "/// APP a\n/// FLOW f\nBe brief." }],
    messages: [
      { role: "assistant", content: "/// APP no" },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t" }] },
      { role: "user", content: [{ type: "text", text: "/// APP b\r\n/// COHORT c\r\nHi" }] },
      { role: "user", content: "/// FLOW other\nHi" },
    ],
  });
  assert.deepEqual(facts, {
    model: "vendor-c/claude-x",
    stream: true,
    wantsStreamUsage: true,
    endUser: "u",
    endUserField: "metadata.user_id",
    maxOutputTokens: 9,
    choices: 1,
    serviceTier: undefined,
    tags: { app: "a", flow: "f", cohort: "c" },
    tagBlocks: [
      { path: ["system", 0, "text"], units: 21 },
      { path: ["messages", 2, "content", 0, "text"], units: 25 },
    ],
  });
});

Deno.test("the first system text may stand among the messages", () => {
  const { tags } = messages.readRequest({
    model: "m",
    messages: [{ role: "user", content: "x" }, { role: "system", content: "/// APP a\ny" }],
  });
  assert.deepEqual(tags, { app: "a" });
});

Deno.test("only model and tag lines change in the text, everything else stays byte for byte", () => {
  const body =
    '{ "model":"vendor-c/claude-y", "temperature":1.0,"new_field":{"n":12345678901234567890},' +
    '\n"system":"/// APP x\\nBe \\u0062rief","messages":[{"role":"user","content":"/// FLOW y\\nHi"}]}';
  const expected =
    '{ "model":"claude-y", "temperature":1.0,"new_field":{"n":12345678901234567890},' +
    '\n"system":"Be \\u0062rief","messages":[{"role":"user","content":"Hi"}]}';
  assert.equal(spliced(body), expected);
  const untagged = '{"model":"claude-y","messages":[]}';
  assert.equal(spliced(untagged), untagged);
});

Deno.test("a prompt of tags only is refused by its path", () => {
  const paramOf = (bodyText: string) => {
    try {
      return spliced(bodyText);
    } catch (thrown) {
      return thrown instanceof Fault ? [thrown.code, thrown.param] : thrown;
    }
  };
  assert.deepEqual(
    paramOf('{"model":"a","messages":[{"role":"user","content":"/// APP x"}]}'),
    ["invalid_value", "messages[0].content"],
  );
  assert.deepEqual(
    paramOf('{"model":"a","system":[{"type":"text","text":"/// APP x\\n"}],"messages":[]}'),
    ["invalid_value", "system[0].text"],
  );
});

Deno.test("calls go to /messages", () => {
  assert.equal(messages.upstreamPath("claude-y", true), "/messages");
});
