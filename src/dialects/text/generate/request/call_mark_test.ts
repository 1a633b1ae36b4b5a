import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { sha256Hex } from "../../../../base/hash.ts";
import { finish } from "../../../../base/steps.ts";
import type { AnswerPart } from "../../../kernel/canonical.ts";
import { answerPart } from "../answer/encode_parts.ts";
import { generate } from "../mod.ts";
import { callMark } from "./call_mark.ts";

const call = (id: string): AnswerPart => ({
  ...{ kind: "tool-call", id, name: "read", text: "{}", custom: false },
});

/** The calls of a conversation whose client sends back a call in this form. */
function callsOf(...parts: unknown[]) {
  const contents = [{ role: "model", parts }, {
    role: "user",
    parts: parts.map(() => ({ functionResponse: { name: "read", response: { output: "x" } } })),
  }];
  const { turns } = finish(generate.decodeRequest({ model: "m", stream: false, contents }));
  const [calls, results] = turns.map((turn) => turn.parts);
  return { calls: calls!, results: results! };
}

Deno.test("a call that comes back without its id, as clients of Google send it, has it again", () => {
  const sent = ["toolu_1", "toolu_2"].map((id) => answerPart(call(id)) as Record<string, unknown>);
  const { calls, results } = callsOf(...sent.map((part) => ({
    functionCall: { name: "read", args: {} },
    // Some clients hold signatures as bytes and write them in the other alphabet.
    thoughtSignature: Buffer.from(String(part.thoughtSignature), "base64").toString("base64url"),
  })));
  assert.deepEqual(calls.map((part) => "id" in part && part.id), ["toolu_1", "toolu_2"]);
  assert.deepEqual(results.map((part) => "callId" in part && part.callId), ["toolu_1", "toolu_2"]);
  assert.ok(calls.every((part) => !("opaque" in part)));
});

Deno.test("calls stay apart if their client sends one signature with several, or results by id", () => {
  const functionCall = { name: "read", args: {} };
  const [first, second] = ["toolu_1", "toolu_2"].map((id) =>
    answerPart(call(id))!.thoughtSignature
  );
  const repeated = callsOf(
    { functionCall, thoughtSignature: first },
    { functionCall, thoughtSignature: first },
  );
  const ids = repeated.calls.map((part) => "id" in part && part.id);
  assert.equal(ids[0], "toolu_1");
  assert.notEqual(ids[1], "toolu_1");
  assert.deepEqual(repeated.results.map((part) => "callId" in part && part.callId), ids);
  const parts = [first, second].map((thoughtSignature) => ({ functionCall, thoughtSignature }));
  const results = ["toolu_2", "toolu_1"].map((id) => ({
    functionResponse: { id, name: "read", response: { output: id } },
  }));
  const contents = [{ role: "model", parts }, { role: "user", parts: results }];
  const { turns } = finish(generate.decodeRequest({ model: "m", stream: false, contents }));
  assert.deepEqual(turns[1]!.parts.map((part) => "callId" in part && part.callId), [
    ...["toolu_2", "toolu_1"],
  ]);
});

Deno.test("a call that Google signed keeps its signature, and one without an id gets no mark", () => {
  const opaque = { dialect: "generate", kind: "thoughtSignature", value: "c2ln" } as const;
  assert.equal(answerPart({ ...call("g1"), opaque })!.thoughtSignature, "c2ln");
  assert.ok(!("thoughtSignature" in answerPart(call(""))!));
  const { calls } = callsOf({ functionCall: { name: "read" }, thoughtSignature: "c2ln" });
  assert.deepEqual("opaque" in calls[0]! && calls[0].opaque, opaque);
});

Deno.test("a long id in a mark is looked up by its hash", () => {
  const id = "x".repeat(20_000);
  const { calls, results } = callsOf({
    functionCall: { name: "read", args: {} },
    thoughtSignature: callMark(id),
  });
  assert.ok("id" in calls[0]! && calls[0].id === sha256Hex(id));
  assert.ok("callId" in results[0]! && results[0].callId === sha256Hex(id));
});
