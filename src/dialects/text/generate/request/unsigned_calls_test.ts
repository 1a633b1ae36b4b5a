import assert from "@std/assert";
import { finish } from "../../../../base/steps.ts";
import { callMark } from "./call_mark.ts";
import { generate } from "../mod.ts";

/** The contents as they go on to a model. */
function passed(contents: unknown, model = "gemini-3.1-pro-preview") {
  const body = { contents, generationConfig: { temperature: 1 } };
  const unsigned = finish(generate.unsignedThinking!(body, model));
  const facts = generate.readRequest({ ...body, model });
  const changes = { model, askStreamUsage: true, ...(unsigned ? { unsigned } : {}) };
  return JSON.parse(finish(generate.spliceRequest(JSON.stringify(body, null, 1), facts, changes)))
    .contents;
}

const hello = { role: "user", parts: [{ text: "Hi" }] };
const call = { functionCall: { name: "f", args: { thoughtSignature: "" } } };
const thought = { text: "Hm.", thought: true };
const skip = { thoughtSignature: "skip_thought_signature_validator" };
const answer = (...parts: unknown[]) => ({ role: "model", parts });

Deno.test("the first call of a turn that nobody signed gets the documented placeholder", () => {
  const older = { function_call: { name: "f" }, thought_signature: "" };
  const marked = { ...older, thought_signature: skip.thoughtSignature };
  assert.deepEqual(
    passed([
      hello,
      answer(thought, call, call),
      hello,
      answer({ ...call, ...skip }),
      answer(older),
    ]),
    [
      ...[hello, answer(thought, { ...call, ...skip }, call), hello],
      ...[answer({ ...call, ...skip }), answer(marked)],
    ],
  );
  const single = { role: "model", parts: call };
  assert.deepEqual(passed(single), { role: "model", parts: { ...call, ...skip } });
});

Deno.test("signed calls, turns without a call and models that don't insist stay as they are", () => {
  const signed = { ...call, thoughtSignature: "of the vendor" };
  for (const turns of [[hello, answer(signed, call)], [hello, answer(thought)], [hello]]) {
    assert.deepEqual(passed(turns), turns);
  }
  const unsigned = [hello, answer(call)];
  assert.deepEqual(passed(unsigned, "gemini-2.5-flash"), unsigned);
});

Deno.test("the mark of another vendor's call never reaches Google", () => {
  const marked = { ...call, thoughtSignature: callMark("toolu_1") };
  const second = { ...call, thoughtSignature: callMark("toolu_2") };
  const placeholder = { ...call, ...skip };
  assert.deepEqual(passed([hello, answer(marked, second)]), [
    hello,
    answer(placeholder, placeholder),
  ]);
  const bare = { ...call, thoughtSignature: "" };
  assert.deepEqual(passed([hello, answer(marked, second)], "gemini-2.5-flash"), [
    hello,
    answer(bare, bare),
  ]);
});

Deno.test("the unsigned calls of many contents, and of one, are found in steps", () => {
  const many = Array.from({ length: 20_000 }, () => answer(thought, call));
  const one = [answer(...Array.from({ length: 40_000 }, () => thought), call)];
  for (const contents of [many, one]) {
    const found = generate.unsignedThinking!({ contents }, "gemini-3.1-pro-preview");
    const steps = [...found].length;
    assert.ok(steps >= 30, `${steps}`);
  }
});
