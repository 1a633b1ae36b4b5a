import assert from "@std/assert";
import { contextOf, encodeStream } from "../../../../../tests/support/responses_fixtures.ts";
import { encodeAnswer } from "../answer_encoder.ts";
import { background } from "../background.ts";

const small = {
  type: "function",
  name: "small",
  description: null,
  parameters: null,
  strict: false,
};
const text = { format: { type: "json_object" }, verbosity: "low" };
const long = "x".repeat(300_000);
const many = Array(100_000).fill("x");

/** Settings of which each is too large to be repeated, with what the response has instead. */
const large: readonly (readonly [string, unknown, unknown])[] = [
  ["instructions", long, null],
  ["metadata", { note: long }, {}],
  ["tools", [small, { ...small, parameters: { type: "string", enum: many } }], []],
  ["text", { format: { type: "json_schema", name: "a", schema: { enum: many } } }, {
    format: { type: "text" },
    verbosity: "medium",
  }],
];

Deno.test("a response repeats no setting of more than 256 Ki characters, and every other", () => {
  for (const [name, setting, instead] of large) {
    const body = { model: "m", input: long, tools: [small], text, user: "ann", [name]: setting };
    const streamed = encodeStream(
      [{ type: "start", id: "a", model: "m", created: 1 }],
      contextOf(body),
    );
    const event = /^data: (.*"type":"response\.created".*)$/m.exec(streamed)![1]!;
    const responses = {
      whole: encodeAnswer({ choices: [] } as never, contextOf(body)),
      streamed: JSON.parse(event).response,
      queued: JSON.parse(background.queued(body, { id: "resp_1", model: "m", created: 1 })),
    };
    assert.ok(streamed.length < 10_000, `${name}: ${streamed.length} characters`);
    for (const [form, response] of Object.entries(responses)) {
      const { tools, user, [name]: repeated } = response as Record<string, unknown>;
      assert.deepEqual(repeated, instead, `${name}, ${form}`);
      assert.equal(user, "ann");
      if (name !== "tools") assert.deepEqual(tools, [small]);
      if (name !== "text") assert.deepEqual((response as { text: unknown }).text, text);
    }
  }
});
