import assert from "@std/assert";
import { foldEvents } from "../../../kernel/fold.ts";
import type { CanonicalEvent } from "../../../kernel/canonical.ts";
import { decodeAnswer } from "../answer_decoder.ts";
import { encodeAnswer } from "../answer_encoder.ts";
import { ChoiceReader } from "./choice_reader.ts";
import { finish } from "../../../../base/steps.ts";

const png = "iVBORw0KGgoAAAANSUhEUg==";

/** The folded parts of an answer with this message. */
function partsOf(message: Record<string, unknown>) {
  const json = { id: "c", choices: [{ index: 0, message, finish_reason: "stop" }] };
  return foldEvents(finish(decodeAnswer(json, {}))).choices[0]!.parts;
}

Deno.test("sources named beside the text belong to it", () => {
  const cited = { url: "https://a.example", title: "A", start_index: 0, end_index: 2 };
  const parts = partsOf({
    content: "So it is",
    annotations: [{ type: "url_citation", url_citation: cited }, { type: "other" }],
  });
  assert.deepEqual(parts, [{
    kind: "text",
    text: "So it is",
    citations: [{ url: "https://a.example", title: "A", start: 0, end: 2 }],
  }]);
});

Deno.test("pictures and sound are blocks of their own, a transcript is the text", () => {
  const parts = partsOf({
    content: null,
    images: [{ type: "image_url", image_url: { url: `data:image/png;base64,${png}` } }],
    audio: { id: "audio_1", data: "UklGRg==", transcript: "Hello" },
  });
  assert.deepEqual(
    parts.map((part) => [part.kind, part.text]),
    [["text", "Hello"], ["media", "UklGRg=="], ["media", png]],
  );
});

Deno.test("a streamed answer's sound is recorded with its transcript, as a whole answer has it", () => {
  const recordOf = (deltas: readonly Record<string, unknown>[]) => {
    const events: CanonicalEvent[] = [];
    const reader = new ChoiceReader(0, { value: 0 });
    for (const delta of deltas) reader.read({ delta }, events);
    reader.read({ finish_reason: "stop" }, events);
    return (encodeAnswer(foldEvents(events)).choices as { message: unknown }[])[0]!.message;
  };
  const id = "audio_1";
  const message = { role: "assistant", refusal: null };
  const sound = [
    { audio: { id, transcript: "Hel" } },
    { audio: { id, data: "UklG" } },
    { audio: { id, transcript: "lo" } },
    { audio: { id, data: "Rg==" } },
  ];
  const audio = { id, data: "UklGRg==", transcript: "Hello" };
  assert.deepEqual(recordOf(sound), { ...message, content: null, audio });
  assert.deepEqual(recordOf([{ content: "See:" }, ...sound]), {
    ...message,
    content: "See:",
    audio,
  });
  // Cut before the sound.
  const cut = { id: "", data: "", transcript: "Hel" };
  assert.deepEqual(recordOf(sound.slice(0, 1)), { ...message, content: null, audio: cut });
});

Deno.test("a status of 200 without any choice is not an answer", () => {
  assert.throws(
    () => finish(decodeAnswer({ id: "c", choices: [] }, {})),
    /could not be understood/,
  );
});

Deno.test("reasoning entries of an unknown type stay apart, whatever its name", () => {
  const reasoning_details = ["toString", "toString"].map((type) => ({ type, index: 0, text: "a" }));
  const reader = new ChoiceReader(0, { value: 0 });
  const events: CanonicalEvent[] = [];
  for (const entry of reasoning_details) {
    reader.read({ delta: { content: "hi", reasoning_details: [entry] } }, events);
  }
  reader.close(events);
  assert.deepEqual(recordedReasoning(events), reasoning_details);
});

Deno.test("reasoning entries of a whole answer are not joined", () => {
  const reasoning_details = ["a", "b"].map((text) => ({ type: "reasoning.text", text }));
  const message = { role: "assistant", content: "hi", reasoning_details };
  const events = finish(decodeAnswer({ choices: [{ index: 0, message }] }, {}));
  assert.deepEqual(recordedReasoning(events), reasoning_details);
});

function recordedReasoning(events: CanonicalEvent[]): unknown {
  const [choice] = encodeAnswer(foldEvents(events)).choices as { message: Json }[];
  return choice!.message.reasoning_details;
}

type Json = Record<string, unknown>;
