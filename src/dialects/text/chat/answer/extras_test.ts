import assert from "@std/assert";
import { foldEvents } from "../../../kernel/fold.ts";
import { decodeAnswer } from "../answer_decoder.ts";

const png = "iVBORw0KGgoAAAANSUhEUg==";

/** The folded parts of an answer with this message. */
function partsOf(message: Record<string, unknown>) {
  const json = { id: "c", choices: [{ index: 0, message, finish_reason: "stop" }] };
  return foldEvents(decodeAnswer(json, {})).choices[0]!.parts;
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

Deno.test("a good status without any choice is no answer", () => {
  assert.throws(() => decodeAnswer({ id: "c", choices: [] }, {}), /could not be understood/);
});
