import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { conversation } from "./conversation.ts";
import { decodeRequest } from "./request_decoder.ts";

const call = { type: "function_call", id: "fc_1", call_id: "c1", name: "f", arguments: "{}" };
const answer = { id: "resp_1", status: "completed", output: [call] };
const first = { model: "m", input: "q1", instructions: "OLD" };

/** Continues with a request as text; the two forms of the result must agree. */
function continued(bodyText: string) {
  const result = finish(conversation.continueFrom({
    body: JSON.parse(bodyText),
    bodyText,
    inputItems: JSON.parse(JSON.stringify(conversation.inputItems(first))) as unknown[],
    answer,
  }));
  const { previous_response_id: _, ...value } = result.body as Record<string, unknown>;
  assert.deepEqual(JSON.parse(result.bodyText), value);
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
    assert.deepEqual(finish(decodeRequest(body)).system, []);
  }
});

Deno.test("what the caller wrote stays byte for byte", () => {
  const own = '{ "role":"user", "content":"a\\u0062", "x":1.0, "n":12345678901234567890 }';
  const { bodyText } = continued(
    `{"temperature":1.0,"input":[${own}],"previous_response_id":"resp_1","y":{"z":2.50}}`,
  );
  assert.ok(bodyText.includes(own));
  assert.ok(bodyText.startsWith('{"temperature":1.0,'));
  assert.ok(bodyText.endsWith('"y":{"z":2.50}}'));
  const plain = continued('{"input":"a\\u0062","previous_response_id":"resp_1"}');
  assert.ok(plain.bodyText.includes('"text":"a\\u0062"'));
});

Deno.test("an empty or missing input leaves the conversation alone", () => {
  const bodies = [
    '{"model":"m","previous_response_id":"resp_1","input":[]}',
    '{"model":"m","previous_response_id":"resp_1"}',
    '{"previous_response_id":"resp_1"}',
  ];
  for (const text of bodies) {
    assert.deepEqual((continued(text).body as { input: unknown }).input, [q1, call]);
  }
});

Deno.test("a reference to an item that the conversation has doesn't repeat it, in the text either", () => {
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

Deno.test("the caller's answer can name the response that it continues", () => {
  const { body } = continued('{"input":"x","previous_response_id":"resp_1"}');
  assert.equal((body as Record<string, unknown>).previous_response_id, "resp_1");
});

Deno.test("what is kept, and under which id", () => {
  assert.ok(conversation.wantsStored({}));
  assert.ok(conversation.wantsStored({ store: null }));
  assert.ok(!conversation.wantsStored({ store: false }));
  assert.equal(conversation.previousId({ previous_response_id: "r" }), "r");
  assert.equal(conversation.previousId({ previous_response_id: null }), undefined);
  assert.equal(conversation.answerId(answer), "resp_1");
  assert.equal(conversation.answerId({ error: {} }), undefined);
});

Deno.test("items that a request only names are put in their place, in value and text alike", () => {
  const bodyText =
    '{"model":"m","input":[{"type":"item_reference","id":"fc_1"},{"id":"x"}],"y":1.0}';
  const body: unknown = JSON.parse(bodyText);
  assert.deepEqual(conversation.referencedIds(body), ["fc_1", "x"]);
  assert.deepEqual(conversation.itemIds(answer), ["fc_1"]);
  const resolved = finish(conversation.resolve!({ body, bodyText }, [answer]));
  assert.deepEqual((resolved.body as { input: unknown[] }).input, [call, { id: "x" }]);
  assert.deepEqual(JSON.parse(resolved.bodyText), resolved.body);
  assert.ok(resolved.bodyText.endsWith('"y":1.0}'));
});

Deno.test("an item of an unknown type gets an id of its own in a list, whatever the type is called", () => {
  const types = ["constructor", "__proto__", "toString", "new_kind"];
  const ids = conversation.listing!.ids(types.map((type) => ({ type })), "resp_1");
  for (const id of ids) assert.match(id, /^item_[0-9a-f]{32}$/);
  assert.equal(new Set(ids).size, types.length);
});

Deno.test("items in which nothing is sealed or resolved keep their text", () => {
  const tool =
    '{"type":"additional_tools","tools":[{"parameters":{"maximum":18446744073709551615}}]}';
  const request = (first: string) => {
    const bodyText = `{"model":"m","input":[${first},${tool}]}`;
    return { body: JSON.parse(bodyText), bodyText };
  };
  const thought = '{"type":"reasoning","id":"rs_1","summary":[]}';
  const sealed = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"S"}';
  const answer = { id: "resp_1", output: [JSON.parse(sealed)] };
  const reference = '{"type":"item_reference","id":"rs_1"}';
  const { bodyText } = request(sealed);
  assert.equal(finish(conversation.sealInput!(request(thought), () => "S")).bodyText, bodyText);
  assert.equal(finish(conversation.resolve!(request(reference), [answer])).bodyText, bodyText);
});
