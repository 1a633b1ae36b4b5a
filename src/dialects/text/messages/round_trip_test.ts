import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { canonicalRequest } from "../../../../tests/support/canonical_request.ts";
import { messagesEvents } from "../../../../tests/support/grammar/events.ts";
import { MessagesSamples } from "../../../../tests/support/messages_samples.ts";
import { acceptedByMessagesVendor } from "../../../../tests/support/messages_vendor.ts";
import { SseSplitter } from "../../../base/sse.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../kernel/canonical.ts";
import { foldEvents } from "../../kernel/fold.ts";
import type { AnswerContext } from "../../kernel/dialect.ts";
import { messages } from "./mod.ts";

const context: AnswerContext = {
  id: (prefix) => `${prefix}minted`,
  created: 1,
  model: "m",
  request: canonicalRequest({}),
  body: {},
  showUsage: true,
  inputTokens: 7,
};

/** Without what the gateway mints or the dialect's own words for it. */
function plain(answer: CanonicalAnswer): unknown {
  const { raw: _, ...usage } = answer.usage ?? { input: 0, output: 0 };
  return {
    model: answer.model,
    usage,
    choices: answer.choices.map(({ index, parts, finish }) => (
      { index, parts, reason: finish?.reason, stopSequence: finish?.stopSequence }
    )),
  };
}

function encodeStream(events: readonly CanonicalEvent[]): string {
  const encoder = messages.createStreamEncoder(context);
  return events.map((event) => encoder.encode(event)).join("") + encoder.end();
}

function decodeStream(bytes: readonly Uint8Array[]): CanonicalEvent[] {
  const splitter = new SseSplitter({ maxEventBytes: 1_000_000 });
  const decoder = messages.createStreamDecoder({});
  const incoming = [...bytes.flatMap((one) => splitter.push(one)), ...splitter.end()];
  const events = incoming.flatMap((event) => decoder.decode(event).events);
  const rest = decoder.end();
  assert.equal(rest.complete, true);
  return [...events, ...rest.events];
}

Deno.test("300 made-up answers survive the stream, grammatical and however it is cut", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const samples = new MessagesSamples(seed);
    const events = samples.answer();
    const text = encodeStream(events);
    messagesEvents(text);
    const bytes = new TextEncoder().encode(text);
    const decoded = decodeStream([bytes]);
    assert.deepEqual(plain(foldEvents(decoded)), plain(foldEvents(events)), `seed ${seed}`);
    const pieces: Uint8Array[] = [];
    for (let at = 0; at < bytes.length;) {
      const next = at + 1 + samples.below(40);
      pieces.push(bytes.subarray(at, next));
      at = next;
    }
    assert.deepEqual(decodeStream(pieces), decoded, `seed ${seed}`);
  }
});

Deno.test("300 made-up answers survive as a whole, and stream and whole agree", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const answer = foldEvents(new MessagesSamples(seed).answer());
    const whole = messages.encodeAnswer(answer, context);
    const back = foldEvents(finish(messages.decodeAnswer(whole, {})));
    assert.deepEqual(plain(back), plain(answer), `seed ${seed}`);
    const recorded = foldEvents(finish(messages.decodeAnswer(messages.encodeAnswer(answer), {})));
    assert.deepEqual(plain(recorded), plain(answer), `seed ${seed}`);
  }
});

/** Paths are the caller's, and differ between the two bodies. */
function withoutPaths(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutPaths);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([key]) => key !== "path" && key !== "paths")
      .map(([key, one]) => [key, withoutPaths(one)]),
  );
}

Deno.test("300 made-up requests survive, and the simulated vendor takes each", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const request = new MessagesSamples(seed).request();
    const target = { model: request.model, maxOutputTokens: undefined };
    const { body, losses } = finish(messages.encodeRequest(request, target));
    acceptedByMessagesVendor(body);
    assert.deepEqual(losses, [], `seed ${seed}`);
    const back = finish(messages.decodeRequest(JSON.parse(JSON.stringify(body))));
    assert.deepEqual(withoutPaths(back), withoutPaths(request), `seed ${seed}`);
  }
});
