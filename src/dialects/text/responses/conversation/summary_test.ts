import assert from "@std/assert";
import { finish } from "../../../../base/steps.ts";
import { contextOf, encodeStream } from "../../../../../tests/support/responses_fixtures.ts";
import { responsesEvents } from "../../../../../tests/support/grammar/events.ts";
import type { FinishReason } from "../../../../shared/interaction.ts";
import type { CanonicalEvent } from "../../../kernel/canonical.ts";
import { foldEvents } from "../../../kernel/fold.ts";
import { decodeAnswer } from "../answer_decoder.ts";
import { encodeAnswer } from "../answer_encoder.ts";
import { decodeRequest } from "../request_decoder.ts";
import { createStreamEncoder } from "../stream_encoder.ts";
import { writeEnvelope } from "./envelope.ts";
import { summaryQuestion, summaryText } from "../../../kernel/summary.ts";
import { readSummary, writeSummary } from "./summary.ts";

type Json = Record<string, unknown>;

const trigger = { type: "compaction_trigger" };
const question = { role: "user", content: "Mend it." };
const parameters = { type: "object", properties: {} };

const decode = (input: unknown[], fields: Json = {}) =>
  finish(decodeRequest({ model: "m", input, ...fields }));
const textsOf = (input: unknown[]) =>
  decode(input).turns.map((
    { role, parts },
  ) => [role, ...parts.map((part) => part.type === "text" && part.text)]);

Deno.test("a request for a summary is the question for it, and no tool may be called", () => {
  const tools = [
    { type: "function", name: "f", parameters },
    { type: "web_search" },
    { type: "file_search", vector_store_ids: ["vs_1"] },
  ];
  const request = decode([question, trigger], {
    ...{ tools, tool_choice: "required", max_output_tokens: 500 },
    text: { format: { type: "json_schema", name: "n", schema: parameters }, verbosity: "low" },
    include: ["message.output_text.logprobs"],
  });
  assert.equal(request.asksForSummary, true);
  assert.deepEqual(request.turns.at(-1), {
    role: "user",
    parts: [{ type: "text", text: summaryQuestion, path: "input[1]" }],
    path: "input[1]",
  });
  assert.deepEqual([request.toolChoice, request.tools.length], [{ mode: "none" }, 1]);
  assert.deepEqual(
    [request.webSearch?.demanded, request.format, request.logprobs],
    [false, undefined, undefined],
  );
  assert.deepEqual([request.maxOutputTokens, request.verbosity], [500, "low"]);
  assert.deepEqual(request.unsupported, []);
  assert.equal(decode([question, trigger]).toolChoice, undefined, "there is nothing to choose");
  const search = { type: "web_search" };
  const demanded = decode([question, trigger], { tools: [search], tool_choice: search });
  assert.deepEqual(
    [demanded.toolChoice, demanded.webSearch?.demanded],
    [{ mode: "none" }, false],
    "a search that the caller demands would be made instead of the summary",
  );
  assert.equal(decode([question]).asksForSummary, undefined);
});

Deno.test("a trigger before the end of the input is refused", () => {
  assert.throws(() => decode([trigger, question]), { code: "invalid_value", param: "input[0]" });
});

Deno.test("a summary of ours is the user's text where it stands, whoever it was written for", () => {
  const summary = writeSummary("cmp_1", "So far: ü \u{1f642}.");
  assert.deepEqual(textsOf([question, summary, question]), [
    ["user", "Mend it."],
    ["user", summaryText("So far: ü \u{1f642}.")],
    ["user", "Mend it."],
  ]);
  // As Codex sends it: without an id, and with what it writes down for itself.
  const { id: _, ...bare } = summary;
  const noted = { ...bare, internal_chat_message_metadata_passthrough: { a: 1 } };
  assert.deepEqual(decode([noted]).unsupported, []);
});

Deno.test("a summary that is damaged or no summary is refused; a vendor's own can't be carried", () => {
  const { encrypted_content: sealed } = writeSummary("cmp_1", "So far.");
  const item = (encrypted_content: unknown) => ({ type: "compaction", encrypted_content });
  const damaged = [
    "gwenv1.",
    "gwenv1.%%%",
    String(sealed).slice(0, -5),
    writeEnvelope({ dialect: "messages", kind: "signature", value: "x" }),
    "gwenv1." + btoa('{"version":1,"dialect":"responses","kind":"summary","value":{}}'),
  ];
  for (const one of damaged) {
    assert.throws(() => decode([question, item(one)]), {
      code: "invalid_value",
      param: "input[1].encrypted_content",
    });
  }
  for (const one of ["gAAA", "", undefined, 7]) {
    const [lost] = decode([question, item(one)]).unsupported;
    assert.deepEqual([lost?.path, lost?.weight], ["input[1]", "meaning"]);
  }
});

const content: Record<string, CanonicalEvent[]> = {
  text: block(0, { kind: "text" }, "So ", "far."),
  thought: [...block(0, { kind: "reasoning" }, "Hm."), ...block(1, { kind: "text" }, "So far.")],
  blank: block(0, { kind: "text" }, " \n"),
  thoughtAlone: block(0, { kind: "reasoning" }, "Hm."),
  refusal: block(0, { kind: "refusal" }, "I won't."),
  call: [
    ...block(0, { kind: "text" }, "Let me look."),
    ...block(1, { kind: "tool-call", id: "call_1", name: "f", custom: false }, "{}"),
  ],
};

function block(number: number, content: object, ...pieces: string[]): CanonicalEvent[] {
  const at = { choice: 0, block: number };
  return [
    { type: "block-start", ...at, content } as CanonicalEvent,
    ...pieces.map((text): CanonicalEvent => ({ type: "block-delta", ...at, text })),
    { type: "block-end", ...at },
  ];
}

function answer(name: string, reason: FinishReason): CanonicalEvent[] {
  return [
    { type: "start", id: "up", model: "m", created: 1 },
    ...content[name]!,
    { type: "finish", choice: 0, reason, raw: reason },
    { type: "usage", usage: { input: 5, output: 6 } },
  ];
}

const context = () => contextOf({ input: [question, trigger] });

/** The response, streamed and whole. */
function both(name: string, reason: FinishReason): Json[] {
  const streamed = responsesEvents(encodeStream(answer(name, reason), context())).at(-1)!;
  return [
    streamed.response as Json,
    encodeAnswer(foldEvents(answer(name, reason)), context()),
  ];
}

Deno.test("a summary is one compaction item, whole and streamed, and is read back", () => {
  for (const name of ["text", "thought"]) {
    for (const { status, output, usage } of both(name, "stop")) {
      const [item, ...others] = output as Json[];
      assert.deepEqual([status, item!.type, others], ["completed", "compaction", []]);
      assert.match(String(item!.id), /^cmp_/);
      assert.equal(readSummary(item), "So far.");
      assert.equal((usage as Json).output_tokens, 6);
    }
  }
  const types = responsesEvents(encodeStream(answer("thought", "stop"), context()))
    .map(({ type }) => type);
  assert.deepEqual(types, [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.output_item.done",
    "response.completed",
  ]);
});

Deno.test("a summary that its limit cut is given, as incomplete", () => {
  for (const { status, incomplete_details, output } of both("text", "length")) {
    assert.deepEqual(incomplete_details, { reason: "max_output_tokens" });
    assert.deepEqual([status, readSummary((output as Json[])[0])], ["incomplete", "So far."]);
  }
  for (const { status, output } of both("thoughtAlone", "length")) {
    assert.equal(status, "incomplete");
    assert.ok(!JSON.stringify(output).includes("compaction"));
  }
});

Deno.test("an answer that was blocked is no summary, but the answer that it is", () => {
  for (const { incomplete_details, output } of both("text", "content_filter")) {
    assert.deepEqual(incomplete_details, { reason: "content_filter" });
    assert.deepEqual((output as Json[]).map(({ type }) => type), ["message"]);
  }
});

Deno.test("an answer without a summary fails as the vendor's, after its usage", () => {
  for (const name of ["blank", "thoughtAlone", "refusal", "call"]) {
    const encoder = createStreamEncoder(context());
    const reason = name === "call" ? "tool_calls" : "stop";
    const sent = answer(name, reason).map((event) => encoder.encode(event)).join("");
    assert.ok(!sent.includes("output_item"));
    assert.throws(() => encoder.end(), { code: "upstream_invalid_response" });
  }
});

Deno.test("a stream that breaks has no item", () => {
  const encoder = createStreamEncoder(context());
  const sent = answer("text", "stop").slice(0, 3).map((event) => encoder.encode(event)).join("");
  assert.ok(!sent.includes("output_item"));
});

Deno.test("a record of a summary is read as its text", () => {
  const [, whole] = both("text", "stop");
  const [choice] = foldEvents(finish(decodeAnswer(whole, {}))).choices;
  assert.deepEqual(choice!.parts, [{ kind: "text", text: "So far." }]);
});
