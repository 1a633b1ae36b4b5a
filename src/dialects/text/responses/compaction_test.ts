import assert from "@std/assert";
import { foldEvents } from "../../kernel/fold.ts";
import { writeSummary } from "./conversation/summary.ts";
import { responses } from "./mod.ts";
import { finish } from "../../../base/steps.ts";

const { decodeAnswer } = responses.compaction!;
const withoutRepeated = (text: string) => finish(responses.compaction!.withoutRepeated!(text));

Deno.test("a record of a compacted conversation has its summary, and of other items what they are", () => {
  const summary = JSON.stringify(writeSummary("cmp_1", "So far."));
  const told = '"content" : [{"type":"input_text","text":"Feed the yak."}]';
  const text = `{"id":"resp_1", "x": 1.0, "output": [
    {"id":"msg_1",${told},"type":"message","role":"user","status":"completed"},
    {"role":"assistant", ${told}},
    {"type":"function_call","name":"f","arguments":"{\\"yak\\":1}","call_id":"c"},
    {"type":"function_call_output","call_id":"c","output":"The yak is fed."},
    ${summary}, {${told}}, "odd"], "usage": {"input_tokens": 12345678901234567890}}`;
  const recorded = withoutRepeated(text);
  assert.equal(
    recorded,
    `{"id":"resp_1", "x": 1.0, "output": [
    {"id":"msg_1","type":"message","role":"user","status":"completed"},
    {"role":"assistant"},
    {"type":"function_call"},
    {"type":"function_call_output"},
    ${summary}, {}, "odd"], "usage": {"input_tokens": 12345678901234567890}}`,
  );
  assert.equal(withoutRepeated(recorded), recorded);
  const { choices } = foldEvents(finish(decodeAnswer(JSON.parse(recorded), {})));
  const texts = choices[0]!.parts.filter(({ kind }) => kind === "text");
  assert.deepEqual(texts.map((part) => part.kind === "text" && part.text), ["So far."]);
});

Deno.test("what has no list of items is recorded as it is", () => {
  for (const text of ['{"output": null}', '{"id": "resp_1"}', "[]", '"odd"']) {
    assert.equal(withoutRepeated(text), text);
  }
});
