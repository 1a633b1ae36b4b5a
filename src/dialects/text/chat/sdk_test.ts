import assert from "@std/assert";
import OpenAI from "openai";
import { contextOf } from "../../../../tests/support/responses_fixtures.ts";
import { Fault } from "../../../shared/fault.ts";
import type { CanonicalEvent } from "../../kernel/canonical.ts";
import { foldEvents } from "../../kernel/fold.ts";
import { encodeAnswer } from "./answer_encoder.ts";
import { createStreamEncoder } from "./stream_encoder.ts";

/** The official client, which puts a stream's chunks together, reads what we write. */
function clientOf(text: string): OpenAI {
  return new OpenAI({
    apiKey: "unused",
    baseURL: "https://gateway.invalid/v1",
    maxRetries: 0,
    fetch: () =>
      Promise.resolve(new Response(text, { headers: { "content-type": "text/event-stream" } })),
  });
}

const start: CanonicalEvent = { type: "start", id: "x", model: "m", created: 1 };
const finish = (choice: number): CanonicalEvent => ({
  type: "finish",
  choice,
  reason: "stop",
  raw: "x",
});

function text(choice: number, block: number, urls: readonly string[]): CanonicalEvent[] {
  return [
    { type: "block-start", choice, block, content: { kind: "text" } },
    ...urls.flatMap((url): CanonicalEvent[] => [
      { type: "block-delta", choice, block, text: "A fact. " },
      { type: "citation", choice, block, citation: { url, title: "T", start: 0, end: 7 } },
    ]),
    { type: "block-end", choice, block },
  ];
}

function picture(choice: number, block: number, data: string): CanonicalEvent[] {
  const content = { kind: "media", media: "image", mimeType: "image/png", id: undefined } as const;
  return [
    { type: "block-start", choice, block, content },
    { type: "block-delta", choice, block, text: data },
    { type: "block-end", choice, block },
  ];
}

Deno.test("the official client has every source and picture of a stream, as in a whole answer", async () => {
  const events = [
    start,
    ...text(0, 0, ["https://a.example", "https://b.example"]),
    ...text(1, 1, ["https://c.example"]),
    ...picture(0, 2, "AAAA"),
    ...text(0, 3, ["https://d.example"]),
    ...picture(0, 4, "BBBB"),
    finish(0),
    finish(1),
    { type: "usage", usage: { input: 3, output: 4 } } as const,
  ];
  const encoder = createStreamEncoder(contextOf());
  const written = events.map((event) => encoder.encode(event)).join("") + encoder.end();
  const client = clientOf(written);
  const stream = client.chat.completions.stream({ model: "m", messages: [] });
  const { choices } = await stream.finalChatCompletion();
  const whole = encodeAnswer(foldEvents(events), contextOf()) as { choices: typeof choices };
  for (const [index, { message }] of choices.entries()) {
    const wanted = whole.choices[index]!.message as unknown as Record<string, unknown>;
    const { annotations, images } = message as unknown as Record<string, unknown>;
    assert.ok(annotations);
    assert.deepEqual([annotations, images], [wanted.annotations, wanted.images]);
  }
});

Deno.test("sources and pictures aren't lost with a stream that fails, nor held without bound", () => {
  const encoder = createStreamEncoder(contextOf());
  const write = (events: readonly CanonicalEvent[]) =>
    events.map((event) => encoder.encode(event)).join("");
  assert.ok(!write([start, ...text(0, 0, ["https://a.example"])]).includes("https://a.example"));
  const large = write(picture(0, 1, "A".repeat(33 * 1024 * 1024)));
  assert.ok(large.includes("https://a.example") && large.includes("AAAA"));
  assert.ok(!write(picture(0, 2, "BBBB")).includes("BBBB"));
  const failed = encoder.fail(new Fault("upstream_error"));
  assert.equal(failed.match(/BBBB/g)?.length, 1);
  assert.ok(!failed.includes("https://a.example"));
});
