/** decode(encode(x)) = x for what this dialect can carry, on requests and answers made by rule. */
import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { SseSplitter } from "../../../base/sse.ts";
import type { AnswerPart, CanonicalAnswer, CanonicalEvent } from "../../kernel/canonical.ts";
import type {
  CanonicalRequest,
  Opaque,
  Part,
  ToolCallPart,
  Turn,
} from "../../kernel/canonical_request.ts";
import { foldEvents } from "../../kernel/fold.ts";
import { markedCallId } from "./request/call_mark.ts";
import { generate } from "./mod.ts";

const rounds = 300;

Deno.test("answers survive as whole answers and as streams", () => {
  for (let seed = 1; seed <= rounds; seed++) {
    const answer = someAnswer(new Dice(seed));
    const whole = foldEvents(finish(generate.decodeAnswer(generate.encodeAnswer(answer), {})));
    assert.deepEqual(bare(whole), bare(answer), `whole, seed ${seed}`);
    const streamed = decodeStream(encodeStream(eventsOf(answer, new Dice(seed))));
    assert.equal(streamed.complete, true, `seed ${seed}`);
    assert.deepEqual(bare(streamed.answer), bare(answer), `stream, seed ${seed}`);
  }
});

Deno.test("requests survive", () => {
  for (let seed = 1; seed <= rounds; seed++) {
    const request = someRequest(new Dice(seed));
    const { body, losses } = finish(generate.encodeRequest(request, {
      model: request.model,
      maxOutputTokens: undefined,
    }));
    assert.deepEqual(losses, [], `seed ${seed}`);
    const again = finish(
      generate.decodeRequest({ ...body, model: request.model, stream: request.stream }),
    );
    assert.deepEqual(withoutPaths(again), withoutPaths(request), `seed ${seed}`);
  }
});

/** Small deterministic source of choices (xorshift). */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed * 2_654_435_761 >>> 0 || 1;
  }

  below(limit: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    this.#state >>>= 0;
    return this.#state % limit;
  }

  flip(): boolean {
    return this.below(2) === 1;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  text(): string {
    return this.pick(["a", "née 😀", 'q"\\ },{', "line\r\nline", "data: x", "\u2028", "0"]);
  }
}

function opaque(value: string): Opaque {
  return { dialect: "generate", kind: "thoughtSignature", value };
}

/** Neighbours of one kind only where the first is signed: others would be read as one. */
function someAnswer(dice: Dice): CanonicalAnswer {
  const choices = Array.from({ length: 1 + dice.below(2) }, (_, index) => {
    const parts: AnswerPart[] = [];
    for (let left = dice.below(5); left > 0; left--) {
      const part = somePart(dice, left);
      const before = parts.at(-1);
      if (before?.kind !== part.kind || part.kind === "tool-call" || before.opaque) {
        parts.push(part);
      }
    }
    const sawCall = parts.some(({ kind }) => kind === "tool-call");
    const finish = dice.pick([
      { reason: sawCall ? "tool_calls" as const : "stop" as const, raw: "STOP" },
      { reason: "length" as const, raw: "MAX_TOKENS" },
      { reason: "content_filter" as const, raw: "SPII" },
    ]);
    return { index, parts, logprobs: undefined, finish };
  });
  return {
    id: "r1",
    model: "gemini-3-flash",
    created: 1_700_000_000,
    choices,
    usage: {
      input: 100 + dice.below(9),
      output: 50 + dice.below(9),
      ...(dice.flip() ? { cacheRead: dice.below(20) } : {}),
      ...(dice.flip() ? { reasoning: dice.below(20) } : {}),
      ...(dice.flip() ? { audioInput: dice.below(20), imageOutput: dice.below(20) } : {}),
      ...(dice.flip() ? { serviceTier: "flex" } : {}),
    },
    truncated: false,
  };
}

function somePart(dice: Dice, index: number): AnswerPart {
  const signature = dice.flip() ? { opaque: opaque(`s${index}`) } : {};
  switch (dice.below(4)) {
    case 0:
      return { kind: "text", text: dice.text() + dice.text(), ...signature };
    case 1:
      return { kind: "reasoning", text: dice.text(), ...signature };
    case 2:
      return {
        kind: "media",
        media: "image",
        mimeType: "image/png",
        id: undefined,
        text: "AAAA",
        ...signature,
      };
    default:
      return {
        kind: "tool-call",
        id: `call_${index}`,
        name: dice.pick(["f", "g.h:i"]),
        custom: false,
        text: JSON.stringify({ [dice.text()]: dice.text(), n: [1, null, { x: true }] }),
        ...signature,
      };
  }
}

/** The answer as events, its texts in random pieces, candidates interleaved by block. */
function eventsOf(answer: CanonicalAnswer, dice: Dice): CanonicalEvent[] {
  const events: CanonicalEvent[] = [{
    type: "start",
    id: answer.id,
    model: answer.model,
    created: answer.created,
  }];
  let block = 0;
  const longest = Math.max(...answer.choices.map(({ parts }) => parts.length));
  for (let at = 0; at < longest; at++) {
    for (const { index: choice, parts } of answer.choices) {
      const part = parts[at];
      if (!part) continue;
      const { text, opaque: signature, ...content } = part;
      const cut = dice.below(text.length + 1);
      events.push({ type: "block-start", choice, block, content });
      for (const piece of [text.slice(0, cut), text.slice(cut)]) {
        if (piece) events.push({ type: "block-delta", choice, block, text: piece });
      }
      events.push({
        type: "block-end",
        choice,
        block,
        ...(signature ? { opaque: signature } : {}),
      });
      block++;
    }
  }
  for (const { index, finish } of answer.choices) {
    events.push({ type: "finish", choice: index, ...finish! });
  }
  if (answer.usage) events.push({ type: "usage", usage: answer.usage });
  return events;
}

function encodeStream(events: readonly CanonicalEvent[]): string {
  const request = { model: "m", stream: true, contents: [{ parts: [{ text: "x" }] }] };
  const encoder = generate.createStreamEncoder({
    id: () => "r1",
    created: 0,
    model: "m",
    request: finish(generate.decodeRequest(request)),
    body: request,
    showUsage: true,
    inputTokens: 0,
  });
  return events.map((event) => encoder.encode(event)).join("") + encoder.end();
}

function decodeStream(text: string): { answer: CanonicalAnswer; complete: boolean } {
  const splitter = new SseSplitter({ maxEventBytes: 1e6 });
  const decoder = generate.createStreamDecoder({});
  const events = [...splitter.push(new TextEncoder().encode(text)), ...splitter.end()]
    .flatMap((event) => decoder.decode(event).events);
  const rest = decoder.end();
  return { answer: foldEvents([...events, ...rest.events]), complete: rest.complete };
}

/** The part without a mark of ours, which is no vendor's data. */
function unmarked(part: AnswerPart): AnswerPart {
  const { opaque: value, ...rest } = part;
  return value && markedCallId(value.value) !== undefined ? rest as AnswerPart : part;
}

function bare(answer: CanonicalAnswer): CanonicalAnswer {
  const { own: _, ...whole } = answer;
  const choices = whole.choices.map((choice) => ({ ...choice, parts: choice.parts.map(unmarked) }));
  const rest = { ...whole, choices };
  if (!rest.usage) return rest;
  const { raw: _raw, ...usage } = rest.usage;
  return { ...rest, usage };
}

function someRequest(dice: Dice): CanonicalRequest {
  const turns: Turn[] = [];
  for (let left = 1 + dice.below(3); left > 0; left--) {
    turns.push(turn("user", { type: "text", text: dice.text(), path: "" }, ...someMedia(dice)));
    if (dice.flip()) turns.push(...someStep(dice, left));
    else turns.push(turn("assistant", { type: "text", text: dice.text(), path: "" }));
  }
  const schema = { type: "object", properties: { a: { type: ["string", "null"] } } };
  return {
    model: dice.pick(["gemini-3.1-pro-preview", "gemini-4-argon"]),
    stream: dice.flip(),
    system: dice.flip() ? [{ text: "one", path: "" }, { text: dice.text(), path: "" }] : [],
    turns,
    tools: [{ type: "function", name: "f", description: "d", parameters: schema, path: "" }],
    ...(dice.flip() ? { toolChoice: { mode: "required", names: ["f"] } } : {}),
    ...(dice.flip() ? { maxOutputTokens: 99, temperature: 0.5, topP: 1, topK: 3 } : {}),
    ...(dice.flip() ? { stop: ["x", "\n"], choices: 2, seed: -1 } : {}),
    ...(dice.flip() ? { frequencyPenalty: 0.5, logprobs: { top: dice.below(3) } } : {}),
    ...(dice.flip()
      ? { format: { type: "json-schema", name: "response", schema, strict: false } }
      : { serviceTier: dice.pick(["default", "flex"]) }),
    ...(dice.flip()
      ? { reasoning: { effort: dice.pick(["low", "medium", "high"]), show: true } }
      : {}),
    unsupported: [],
    paths: {},
  };
}

function someMedia(dice: Dice): Part[] {
  if (dice.flip()) return [];
  return [{
    type: "media",
    kind: "image",
    source: { type: "base64", mimeType: "image/png", data: "iVBORw0KGgo=" },
    ...(dice.flip() ? { detail: "low" } : {}),
    path: "",
  }];
}

/** A signed step of one or two calls, and their results. */
function someStep(dice: Dice, step: number): Turn[] {
  const calls = Array.from({ length: 1 + dice.below(2) }, (_, index): ToolCallPart => ({
    type: "tool-call",
    id: `id${step}.${index}`,
    name: "f",
    arguments: JSON.stringify({ a: dice.text() }),
    custom: false,
    ...(index === 0 ? { opaque: opaque("sig") } : {}),
    path: "",
  }));
  const results = calls.map(({ id }): Part => {
    const isError = dice.flip();
    const text = dice.text();
    return {
      type: "tool-result",
      callId: id,
      name: "f",
      parts: [{ type: "text", text, path: "" }],
      object: isError ? { error: text } : { output: text },
      isError,
      path: "",
    };
  });
  return [
    turn("assistant", ...calls),
    turn("user", ...results),
    turn("assistant", {
      type: "reasoning",
      text: "hm",
      opaque: opaque("r"),
      path: "",
    }),
  ];
}

function turn(role: Turn["role"], ...parts: Part[]): Turn {
  return { role, parts, path: "" };
}

function withoutPaths(request: CanonicalRequest): unknown {
  return JSON.parse(
    JSON.stringify(
      { ...request, paths: {}, turnsPath: undefined },
      (key, value) => key === "path" ? "" : key === "fieldPaths" ? undefined : value,
    ),
  );
}
