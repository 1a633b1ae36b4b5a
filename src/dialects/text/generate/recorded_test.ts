/** Real vendors' answers (protocols, recorded/README.md); left out where the folder is absent. */
import assert from "@std/assert";
import { type SseEvent, SseSplitter } from "../../../base/sse.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../kernel/canonical.ts";
import { foldEvents } from "../../kernel/fold.ts";
import { isRecord } from "../../kernel/json.ts";
import { generate } from "./mod.ts";
import { finish } from "../../../base/steps.ts";

const folder = new URL("../../../../../shared/recorded/generate/", import.meta.url);

for (const name of recordings()) {
  const text = Deno.readTextFileSync(new URL(name, folder));
  if (name.endsWith(".json")) {
    Deno.test(`recorded answer ${name} keeps text, arguments and usage`, () => {
      const json: unknown = JSON.parse(text);
      const events = finish(generate.decodeAnswer(json, {}));
      if (isRecord(json) && json.error) {
        const [event] = events;
        assert.equal(event?.type === "error" && event.error.status, 429);
        assert.equal(event?.type === "error" && event.error.retryAfterSeconds, 35);
        return;
      }
      conserved(foldEvents(events), [json]);
      const again = generate.encodeAnswer(foldEvents(events));
      conserved(foldEvents(finish(generate.decodeAnswer(again, {}))), [json]);
    });
  } else {
    Deno.test(`recorded stream ${name} keeps text, arguments and usage, however it is cut`, () => {
      checkStream(text.split("\n").filter((line) => line !== ""));
    });
  }
}

function checkStream(lines: readonly string[]): void {
  const bytes = new TextEncoder().encode(lines.map((line) => `data: ${line}\n\n`).join(""));
  const { events, complete } = decode(split([bytes]));
  assert.equal(complete, true);
  conserved(foldEvents(events), lines.map((line) => JSON.parse(line)));
  for (let seed = 1; seed <= 30; seed++) {
    const pieces: Uint8Array[] = [];
    for (let at = 0, step = seed; at < bytes.length; at += step) {
      step = 1 + (step * 7 + seed) % 97;
      pieces.push(bytes.slice(at, at + step));
    }
    assert.deepEqual(decode(split(pieces)).events, events);
  }
  const whole = split([bytes]);
  for (let kept = 0; kept < whole.length; kept++) {
    assert.equal(decode(whole.slice(0, kept)).complete, false, `cut after ${kept} events`);
  }
}

/** What the vendor sent, counted on the raw elements, is what the answer holds. */
function conserved(answer: CanonicalAnswer, elements: unknown[]): void {
  const parts = elements.flatMap((element) => rawParts(element));
  const text = parts.map((part) => typeof part.text === "string" ? part.text : "").join("");
  const choice = answer.choices[0]!;
  const of = (kind: string) => choice.parts.filter((part) => part.kind === kind);
  assert.equal(of("text").map((part) => part.text).join(""), text);
  const calls = parts.flatMap(({ functionCall }) => isRecord(functionCall) ? [functionCall] : []);
  const names = calls.flatMap(({ name }) => typeof name === "string" ? [name] : []);
  assert.deepEqual(of("tool-call").map((part) => "name" in part && part.name), names);
  for (const { text: args } of of("tool-call")) {
    const { location } = JSON.parse(args) as { location: string };
    assert.ok(["Boston", "San Francisco"].includes(location), args);
  }
  const signatures = parts.flatMap(({ thoughtSignature }) => thoughtSignature ?? []);
  assert.deepEqual(choice.parts.flatMap(({ opaque }) => opaque?.value ?? []), signatures);
  assert.equal(choice.finish?.reason, names.length > 0 ? "tool_calls" : "stop");
  const last = elements.at(-1);
  const usage = isRecord(last) && isRecord(last.usageMetadata) ? last.usageMetadata : {};
  assert.equal(answer.usage?.input, usage.promptTokenCount);
  assert.equal(answer.usage!.input + answer.usage!.output, usage.totalTokenCount);
  assert.equal(answer.usage?.reasoning, usage.thoughtsTokenCount);
}

function rawParts(element: unknown): Record<string, unknown>[] {
  const candidates = isRecord(element) && Array.isArray(element.candidates)
    ? element.candidates.filter(isRecord)
    : [];
  return candidates.flatMap(({ content }) =>
    isRecord(content) && Array.isArray(content.parts) ? content.parts.filter(isRecord) : []
  );
}

function split(pieces: readonly Uint8Array[]): SseEvent[] {
  const splitter = new SseSplitter({ maxEventBytes: 1e7 });
  return [...pieces.flatMap((piece) => splitter.push(piece)), ...splitter.end()];
}

function decode(events: readonly SseEvent[]): { events: CanonicalEvent[]; complete: boolean } {
  const decoder = generate.createStreamDecoder({});
  const decoded = events.flatMap((event) => decoder.decode(event).events);
  const rest = decoder.end();
  return { events: [...decoded, ...rest.events], complete: rest.complete };
}

function recordings(): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name)
      .filter((name) => /\.(json|chunks\.txt)$/.test(name)).sort();
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return [];
    throw thrown;
  }
}
