import assert from "@std/assert";
import { conversation } from "./conversation.ts";
import { decodeRequest } from "./decode_request.ts";

const call = { type: "function_call", id: "fc_1", call_id: "c1", name: "f", arguments: "{}" };
const answer = { id: "resp_1", status: "completed", output: [call] };
const first = { model: "m", input: "q1", instructions: "OLD" };

/** Continues with a request given as text; the two forms of the result must agree. */
function continued(bodyText: string) {
  const result = conversation.continueFrom({
    body: JSON.parse(bodyText),
    bodyText,
    inputItems: JSON.parse(JSON.stringify(conversation.inputItems(first))) as unknown[],
    answer,
  });
  assert.deepEqual(JSON.parse(result.bodyText), result.body);
  return result;
}

const q1 = { type: "message", role: "user", content: [{ type: "input_text", text: "q1" }] };
const output = { type: "function_call_output", call_id: "c1", output: "1" };

Deno.test("the conversation is put in front, in value and text alike", () => {
  const texts = [
    `{"model":"m","input":[${JSON.stringify(output)}],"previous_response_id":"resp_1"}`,
    `{"previous_response_id":"resp_1", "input" : [ ${JSON.stringify(output)} ] , "model":"m"}`,
  ];
  for (const text of texts) {
    const { body } = continued(text) as { body: { input: unknown[] } };
    assert.deepEqual(body.input, [q1, call, output]);
    assert.deepEqual(decodeRequest(body).system, []);
  }
});

Deno.test("an empty input leaves the conversation alone, other fields stay byte for byte", () => {
  const text = '{"temperature":1.0,"input":[],"previous_response_id":"resp_1","y":{"z":2.50}}';
  const { body, bodyText } = continued(text);
  assert.deepEqual((body as { input: unknown }).input, [q1, call]);
  assert.ok(bodyText.startsWith('{"temperature":1.0,'));
  assert.ok(bodyText.endsWith('"y":{"z":2.50}}'));
});

Deno.test("a reference to what the conversation holds is not said twice, in the text either", () => {
  const reference = '{"type":"item_reference","id":"fc_1"}';
  for (
    const input of [
      `[${reference},${JSON.stringify(output)}]`,
      `[${JSON.stringify(output)},${reference}]`,
    ]
  ) {
    const { body } = continued(`{"input":${input},"previous_response_id":"resp_1"}`);
    assert.deepEqual((body as { input: unknown }).input, [q1, call, output]);
  }
});

Deno.test("what is kept, and under which id", () => {
  assert.ok(conversation.wantsKept({}));
  assert.ok(conversation.wantsKept({ store: null }));
  assert.ok(!conversation.wantsKept({ store: false }));
  assert.equal(conversation.previousId({ previous_response_id: "r" }), "r");
  assert.equal(conversation.previousId({ previous_response_id: null }), undefined);
  assert.equal(conversation.answerId(answer), "resp_1");
  assert.equal(conversation.answerId({ error: {} }), undefined);
});
