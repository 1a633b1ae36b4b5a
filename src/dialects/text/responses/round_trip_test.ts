import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../kernel/canonical.ts";
import type { CanonicalRequest, MediaPart, Part, Turn } from "../../kernel/canonical_request.ts";
import { shownUsage } from "../../kernel/shown_usage.ts";
import { foldEvents } from "../../kernel/fold.ts";
import { decodeAnswer } from "./answer_decoder.ts";
import { encodeAnswer } from "./answer_encoder.ts";
import { readEnvelope } from "./conversation/envelope.ts";
import { decodeRequest } from "./request_decoder.ts";
import { encodeRequest } from "./request_encoder.ts";
import {
  decodeStream,
  encodeStream,
  sealedContext,
} from "../../../../tests/support/responses_fixtures.ts";
import { Random as Choices } from "../../../../tests/support/random.ts";
import { responsesEvents } from "../../../../tests/support/grammar/events.ts";

const runs = 300;

/** Choices of what this test makes. */
class Random extends Choices {
  many<T>(least: number, most: number, make: (index: number) => T): T[] {
    return Array.from({ length: least + this.below(most - least + 1) }, (_, index) => make(index));
  }

  text(): string {
    const pieces = ["Hello", " ", "\n\n", "é", "🙂", '"', "\\", "{", "data: x", "\u2028"];
    return this.many(1, 6, () => this.pick(pieces)).join("");
  }

  maybe<T extends object>(percent: number, make: () => T): Partial<T> {
    return this.chance(percent) ? make() : {};
  }
}

/** As OpenAI takes it strict. */
const closed = { type: "object", properties: {}, additionalProperties: false };

/** A request in the form that decoding gives: paths aside, what this dialect can carry. */
function requestOf(random: Random): CanonicalRequest {
  const tools = random.many(
    0,
    3,
    (index): CanonicalRequest["tools"][number] =>
      random.chance(75)
        ? {
          type: "function",
          name: `f${index}`,
          strict: random.chance(50),
          ...random.maybe(50, () => ({ description: random.text() })),
          ...random.maybe(70, () => ({ parameters: closed })),
          path: "",
        }
        : {
          type: "custom",
          name: `f${index}`,
          ...random.maybe(50, () => ({
            format: { type: "grammar", grammar: { syntax: "lark", definition: random.text() } },
          })),
          path: "",
        },
  );
  const turns: Turn[] = [{ role: "user", parts: random.many(1, 3, () => said(random)), path: "" }];
  for (const [index] of random.many(0, 3, () => 0).entries()) {
    turns.push(...exchange(random, index));
  }
  return {
    model: "m",
    stream: random.chance(50),
    system: random.many(0, 2, () => ({ text: random.text(), path: "" })),
    turns,
    tools,
    unsupported: [],
    ...(tools.length > 0
      ? {
        ...random.maybe(50, () => ({ toolChoice: toolChoiceOf(random, tools[0]!.name) })),
        ...random.maybe(30, () => ({ parallelToolCalls: random.chance(50) })),
      }
      : {}),
    ...random.maybe(50, () => ({ maxOutputTokens: 16 + random.below(1000) })),
    ...random.maybe(50, () => ({ temperature: random.below(20) / 10 })),
    ...random.maybe(30, () => ({ topP: 0.5 })),
    ...random.maybe(30, () => ({ logprobs: { top: random.below(3) } })),
    ...random.maybe(50, () => ({ format: formatOf(random) })),
    ...random.maybe(30, () => ({ verbosity: "low" })),
    ...random.maybe(50, () => ({
      reasoning: { effort: random.pick(["none", "low", "xhigh"]), show: random.chance(50) },
    })),
    ...random.maybe(30, () => ({ user: "u-1" })),
    ...random.maybe(30, () => ({ serviceTier: "flex" })),
    ...random.maybe(30, () => ({ metadata: { k: "v" } })),
    paths: {},
  };
}

function toolChoiceOf(random: Random, name: string): NonNullable<CanonicalRequest["toolChoice"]> {
  return random.pick(
    [
      { mode: "auto" },
      { mode: "none" },
      { mode: "required" },
      { mode: "required", names: [name] },
      { mode: "auto", names: [name] },
      { mode: "required", names: [name, name] },
    ] as const satisfies readonly unknown[],
  ) as NonNullable<CanonicalRequest["toolChoice"]>;
}

function formatOf(random: Random): NonNullable<CanonicalRequest["format"]> {
  return random.pick<NonNullable<CanonicalRequest["format"]>>([
    { type: "text" },
    { type: "json" },
    { type: "json-schema", name: "n", schema: closed, strict: true },
    { type: "json-schema", name: "n", schema: { type: "object" }, description: "d" },
  ]);
}

function said(random: Random): Part {
  return random.chance(60) ? { type: "text", text: random.text(), path: "" } : mediaOf(random);
}

function mediaOf(random: Random): MediaPart {
  const url = { type: "url", url: "https://x.example/a", mimeType: undefined } as const;
  const base64 = (mimeType: string) => ({ type: "base64", mimeType, data: "AAAA" }) as const;
  const detail = random.maybe(50, () => ({ detail: "high" }));
  return random.pick<MediaPart>([
    { type: "media", kind: "image", source: url, ...detail, path: "" },
    { type: "media", kind: "image", source: base64("image/gif"), ...detail, path: "" },
    { type: "media", kind: "file", source: url, path: "" },
    { type: "media", kind: "file", source: base64("text/plain"), name: "a.txt", path: "" },
    { type: "media", kind: "audio", source: base64("audio/wav"), path: "" },
  ]);
}

/** An assistant's turn, the outputs of its calls, and the messages after them. */
function exchange(random: Random, number: number): Turn[] {
  const calls = random.many(0, 3, (index): Part & { type: "tool-call" } => ({
    type: "tool-call",
    id: `call_${number}_${index}`,
    name: `f${index}`,
    arguments: JSON.stringify({ a: random.text() }),
    custom: random.chance(30),
    path: "",
  }));
  const parts: Part[] = [
    ...random.many(0, 2, (): Part => ({
      type: "reasoning",
      text: random.chance(50) ? random.text() : "",
      opaque: { dialect: "responses", kind: "encrypted_content", value: "gAAA" },
      path: "",
    })),
    ...random.many(0, 2, (): Part => ({ type: "text", text: random.text(), path: "" })),
    ...random.many(0, 1, (): Part => ({ type: "refusal", text: random.text(), path: "" })),
    ...calls,
  ];
  const next: Turn = random.chance(20)
    ? { role: "system", parts: [{ type: "text", text: random.text(), path: "" }], path: "" }
    : { role: "user", parts: random.many(1, 3, () => said(random)), path: "" };
  const results = calls.map((call): Part => ({
    type: "tool-result",
    callId: call.id,
    parts: random.chance(70)
      ? [{ type: "text", text: random.text(), path: "" }]
      : [{ type: "text", text: random.text(), path: "" }, mediaOf(random)],
    isError: false,
    path: "",
  }));
  // Reasoning alone, which a cut answer leaves, isn't sent.
  const isCut = parts.every(({ type }) => type === "reasoning");
  return [
    ...(!isCut ? [{ role: "assistant" as const, parts, path: "" }] : []),
    ...(results.length > 0 ? [{ role: "user" as const, parts: results, path: "" }] : []),
    next,
  ];
}

/** Without paths, which name places in one body alone. */
function pathless(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(
      value,
      (key, one) => key === "path" ? "" : key === "fieldPaths" ? undefined : one,
    ) ?? "null",
  );
}

Deno.test("decoding an encoded request gives the request again", () => {
  for (let seed = 1; seed <= runs; seed++) {
    const request = requestOf(new Random(seed));
    const quirks = { customTools: true } as const;
    const { body, losses } = finish(
      encodeRequest(request, { model: "m", maxOutputTokens: undefined, quirks }),
    );
    assert.deepEqual(losses, [], `seed ${seed}`);
    const sent = JSON.parse(JSON.stringify(body)) as unknown;
    const { paths: _, turnsPath, repeatsMetadata: ___, ...again } = finish(decodeRequest(sent));
    assert.equal(turnsPath, "input");
    const { paths: __, ...original } = request;
    assert.deepEqual(pathless(again), pathless(original), `seed ${seed}`);
  }
});

/** Events of an answer that this dialect can carry. */
function answerOf(random: Random): CanonicalEvent[] {
  const events: CanonicalEvent[] = [{
    type: "start",
    id: "up",
    model: "m-1",
    created: 1_700_000_000,
  }];
  const last = random.below(6);
  for (let block = 0; block <= last; block++) events.push(...blockOf(random, block));
  const called = events.some((event) =>
    event.type === "block-start" && event.content.kind === "tool-call"
  );
  const reason = random.pick([called ? "tool_calls" : "stop", "length", "content_filter"] as const);
  events.push({ type: "finish", choice: 0, reason, raw: reason });
  if (random.chance(80)) {
    events.push({
      type: "usage",
      usage: {
        input: 10 + random.below(90),
        output: 5 + random.below(50),
        cacheRead: random.below(5),
        cacheWrite: random.below(5),
        reasoning: random.below(5),
        ...random.maybe(30, () => ({ cacheWriteLong: 1 + random.below(3) })),
        ...random.maybe(30, () => ({ serviceTier: "priority" })),
      },
    });
  }
  return events;
}

function blockOf(random: Random, block: number): CanonicalEvent[] {
  const at = { choice: 0, block };
  const content = random.pick(
    [
      { kind: "text" },
      { kind: "text" },
      { kind: "reasoning" },
      { kind: "refusal" },
      { kind: "tool-call", id: `call_${block}`, name: "f", custom: false },
      { kind: "tool-call", id: `call_${block}`, name: "f", custom: true },
      { kind: "media", media: "image", mimeType: "image/png", id: `ig_${block}` },
      { kind: "vendor", dialect: "responses", value: { type: "mcp_call", id: `mcp_${block}` } },
    ] as const,
  );
  const token = { token: "t", logprob: -0.25, bytes: [116], top: [] };
  const pieces = content.kind === "vendor"
    ? []
    : content.kind === "media"
    ? ["AAAA"]
    : random.many(1, 4, () => random.text());
  const isText = content.kind === "text";
  // Three characters, however many units: no source's place is within one.
  const end = [...pieces.join(""), "   "].slice(0, 3).join("").length;
  return [
    { type: "block-start", ...at, content },
    ...pieces.map((text): CanonicalEvent => ({
      type: "block-delta",
      ...at,
      text,
      ...(isText ? random.maybe(30, () => ({ logprobs: [token] })) : {}),
    })),
    ...random.many(0, isText ? 2 : 0, (): CanonicalEvent => ({
      type: "citation",
      ...at,
      citation: random.pick([
        { url: "https://a.example", title: "A", start: 0, end },
        { url: "https://b.example", title: undefined, start: undefined, end: undefined },
      ]),
    })),
    {
      type: "block-end",
      ...at,
      ...(content.kind === "reasoning"
        ? random.maybe(50, () => ({
          opaque: {
            dialect: "responses" as const,
            kind: "encrypted_content",
            value: "gAAA",
          },
        }))
        : {}),
    },
  ];
}

/** The content of an answer, without what the encoder generates and the vendor's own fields. */
function essence(answer: CanonicalAnswer) {
  const { serviceTier, raw: _, ...usage } = shownUsage(answer, 11);
  // The schema wants these numbers, so unknown ones come back as 0.
  const zeros = { cacheRead: 0, cacheWrite: 0, reasoning: 0 };
  const says = answer.choices[0]!.parts.some((part) => part.kind !== "reasoning");
  return {
    model: answer.model,
    created: answer.created,
    says,
    parts: answer.choices[0]!.parts.map((part) => {
      if (!part.opaque) return part;
      const { itemId: _, ...opaque } = readEnvelope(part.opaque.value) ?? part.opaque;
      return { ...part, opaque };
    }),
    logprobs: answer.choices[0]!.logprobs,
    reason: answer.choices[0]!.finish?.reason,
    usage: { ...zeros, ...usage, serviceTier: serviceTier ?? "default" },
  };
}

Deno.test("decoding an encoded stream gives the answer again, and the stream keeps the grammar", () => {
  for (let seed = 1; seed <= runs; seed++) {
    const events = answerOf(new Random(seed));
    const wire = responsesEvents(encodeStream(events, sealedContext()));
    const { answer, complete } = decodeStream(wire);
    assert.ok(complete, `seed ${seed}`);
    assert.deepEqual(essence(answer), essence(foldEvents(events)), `seed ${seed}`);
  }
});

Deno.test("a whole answer says the same as its stream", () => {
  for (let seed = 1; seed <= runs; seed++) {
    const events = answerOf(new Random(seed));
    const whole = JSON.parse(
      JSON.stringify(encodeAnswer(foldEvents(events), sealedContext())),
    ) as unknown;
    const answer = foldEvents(finish(decodeAnswer(whole, {})));
    assert.deepEqual(essence(answer), essence(foldEvents(events)), `seed ${seed}`);
    const { answer: streamed } = decodeStream(
      responsesEvents(encodeStream(events, sealedContext())),
    );
    assert.deepEqual(essence(streamed), essence(answer), `seed ${seed}`);
  }
});

Deno.test("a stream cut at any event never ends as complete", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const wire = responsesEvents(encodeStream(answerOf(new Random(seed))));
    for (let length = 0; length < wire.length; length++) {
      assert.ok(!decodeStream(wire.slice(0, length)).complete, `seed ${seed}, ${length} events`);
    }
  }
});
