import assert from "@std/assert";
import { finish } from "../../../../base/steps.ts";
import { Fault } from "../../../../shared/fault.ts";
import type { CreateFrame } from "../../../kernel/socket_frames.ts";
import { bodyTextOf, inputItemsText, readClientFrame } from "./client_frame.ts";

const read = (value: unknown) =>
  finish(readClientFrame(typeof value === "string" ? value : JSON.stringify(value)));

Deno.test("a request keeps its members byte for byte, without those of the socket", () => {
  const text =
    '{ "type":"response.create", "model" : "a/b","input": [ {"x":1.0} ],"stream":false, "stream_id":"s","generate":true,"store":false }';
  const frame = read(text) as CreateFrame;
  assert.equal(
    bodyTextOf(frame.members),
    '{"model":"a/b","input":[ {"x":1.0} ],"store":false,"stream":true}',
  );
  assert.deepEqual(
    [frame.streamId, frame.isWarmUp, frame.isStored, frame.previousId],
    ["s", false, false, undefined],
  );
});

Deno.test("of members that come twice the last counts, as in JSON.parse", () => {
  const frame = read(
    '{"type":"x","model":"a","type":"response.create","model":"b"}',
  ) as CreateFrame;
  assert.deepEqual(JSON.parse(bodyTextOf(frame.members)), { model: "b", stream: true });
});

Deno.test("an invalid frame is refused, naming the member", () => {
  const cases: [unknown, string, string | undefined][] = [
    ["", "invalid_json", undefined],
    ["{", "invalid_json", undefined],
    ["null", "invalid_json", undefined],
    ['"response.create"', "invalid_json", undefined],
    [{}, "invalid_value", "type"],
    [{ type: 1 }, "invalid_value", "type"],
    [{ type: "response.create", stream_id: 7 }, "invalid_value", "stream_id"],
    [{ type: "response.create", stream_id: "" }, "invalid_value", "stream_id"],
    [{ type: "response.create", background: true }, "unsupported_parameter", "background"],
  ];
  for (const [frame, code, param] of cases) {
    let thrown: unknown;
    try {
      read(frame);
    } catch (fault) {
      thrown = fault;
    }
    const seen = thrown instanceof Fault ? [thrown.code, thrown.param] : thrown;
    assert.deepEqual(seen, [code, param], JSON.stringify(frame));
  }
});

Deno.test("texts that are cut or changed anywhere end, and never become another valid request", () => {
  const text = JSON.stringify({
    type: "response.create",
    model: "vendor-b/gpt",
    input: [{ role: "user", content: 'a "quoted" \\ text [{' }, { n: [1, [2]] }],
    previous_response_id: "resp_1",
  });
  for (let at = 0; at < text.length; at++) {
    for (const broken of [text.slice(0, at), text.slice(0, at) + text.slice(at + 1)]) {
      let body: unknown;
      try {
        const frame = read(broken);
        if (frame.kind !== "create") continue;
        finish(inputItemsText(frame.members.get("input")));
        body = JSON.parse(bodyTextOf(frame.members));
      } catch {
        continue;
      }
      let whole: Record<string, unknown>;
      try {
        whole = JSON.parse(broken);
      } catch {
        continue;
      }
      const { type: _, ...rest } = whole;
      assert.deepEqual(body, { ...rest, stream: true });
    }
  }
});

Deno.test("input becomes items: text a message, a list its items, anything else nothing", () => {
  const items = (text: string | undefined) => finish(inputItemsText(text));
  assert.deepEqual(JSON.parse(`[${items('"Hi \\"you\\""')}]`), [
    { type: "message", role: "user", content: [{ type: "input_text", text: 'Hi "you"' }] },
  ]);
  assert.equal(items(' [ {"a":1} , 2 ] '), '{"a":1} , 2');
  assert.equal(items("[]"), "");
  assert.equal(items(undefined), "");
  assert.equal(items("{}"), undefined);
  assert.equal(items("7"), undefined);
});
