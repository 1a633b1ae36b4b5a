import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { sha256Hex } from "../base/hash.ts";
import { chat } from "../dialects/text/chat/mod.ts";
import { generate } from "../dialects/text/generate/mod.ts";
import { messages } from "../dialects/text/messages/mod.ts";
import { operations } from "../media/operation_kinds.ts";
import { responses } from "../dialects/text/responses/mod.ts";
import { externalizeMedia } from "./externalize_media.ts";

const bytes = (head: string, length: number) =>
  Buffer.concat([Buffer.from(head, "latin1"), Buffer.alloc(length - head.length, 7)]);
const png = bytes("\x89PNG\r\n\x1a\n", 300);
const pdf = bytes("%PDF-1.7", 301);
const wav = bytes("RIFF0000WAVE", 302);

const named = (content: Buffer, mime_type: string) => ({
  sha256: sha256Hex(content),
  bytes: content.length,
  mime_type,
  url: `/api/v1/media/${sha256Hex(content)}`,
});

const dataUrl = (content: Buffer, type: string) =>
  `data:${type};base64,${content.toString("base64")}`;

function lift(dialect: { mediaFields: typeof chat.mediaFields }, value: unknown) {
  return externalizeMedia(JSON.stringify(value), { inlineBytes: 256, fields: dialect.mediaFields });
}

const image = named(png, "image/png");
/** Every shape of inline media: dialect, before, after. */
const shapes = [
  [
    "chat picture",
    chat,
    {
      messages: [{
        content: [{ type: "image_url", image_url: { url: dataUrl(png, "image/png") } }],
      }],
    },
    { messages: [{ content: [{ type: "image_url", image_url: { url: image } }] }] },
  ],
  [
    "chat sound",
    chat,
    { messages: [{ content: [{ input_audio: { data: wav.toString("base64"), format: "wav" } }] }] },
    {
      messages: [{ content: [{ input_audio: { data: named(wav, "audio/wav"), format: "wav" } }] }],
    },
  ],
  [
    "chat file",
    chat,
    { messages: [{ content: [{ file: { file_data: dataUrl(pdf, "application/pdf") } }] }] },
    { messages: [{ content: [{ file: { file_data: named(pdf, "application/pdf") } }] }] },
  ],
  [
    "picture in a chat answer",
    chat,
    { choices: [{ message: { images: [{ image_url: { url: dataUrl(png, "image/png") } }] } }] },
    { choices: [{ message: { images: [{ image_url: { url: image } }] } }] },
  ],
  [
    "sound in a chat answer",
    chat,
    {
      choices: [{ message: { audio: { id: "a", data: wav.toString("base64"), transcript: "t" } } }],
    },
    {
      choices: [{
        message: { audio: { id: "a", data: named(wav, "audio/wav"), transcript: "t" } },
      }],
    },
  ],
  [
    "responses picture",
    responses,
    { input: [{ content: [{ type: "input_image", image_url: dataUrl(png, "image/png") }] }] },
    { input: [{ content: [{ type: "input_image", image_url: image }] }] },
  ],
  [
    "responses file",
    responses,
    { input: [{ content: [{ type: "input_file", file_data: pdf.toString("base64") }] }] },
    { input: [{ content: [{ type: "input_file", file_data: named(pdf, "application/pdf") }] }] },
  ],
  [
    "picture that a responses model drew",
    responses,
    { output: [{ type: "image_generation_call", result: png.toString("base64") }] },
    { output: [{ type: "image_generation_call", result: image }] },
  ],
  [
    "messages picture in a tool result",
    messages,
    {
      messages: [{
        content: [{
          type: "tool_result",
          content: [{
            source: { type: "base64", media_type: "image/png", data: png.toString("base64") },
          }],
        }],
      }],
    },
    {
      messages: [{
        content: [{
          type: "tool_result",
          content: [{ source: { type: "base64", media_type: "image/png", data: image } }],
        }],
      }],
    },
  ],
  [
    "generate picture, the vendor's other spelling and alphabet",
    generate,
    {
      contents: [{
        parts: [{ inline_data: { mime_type: "image/png", data: png.toString("base64url") } }],
      }],
    },
    { contents: [{ parts: [{ inline_data: { mime_type: "image/png", data: image } }] }] },
  ],
  [
    "picture in a generate answer",
    generate,
    {
      candidates: [{
        content: {
          parts: [{ inlineData: { mimeType: "image/png", data: png.toString("base64") } }],
        },
      }],
    },
    {
      candidates: [{
        content: { parts: [{ inlineData: { mimeType: "image/png", data: image } }] },
      }],
    },
  ],
] as const;

for (const [name, dialect, before, after] of shapes) {
  Deno.test(`${name}: the bytes are taken out and named`, () => {
    const lifted = lift(dialect, before);
    assert.deepEqual(JSON.parse(lifted.text), after);
    assert.equal(lifted.media.length, 1);
    const [media] = lifted.media;
    assert.equal(sha256Hex(media!.content), media!.sha256);
  });
}

Deno.test("the rest of the text stays byte for byte", () => {
  const head =
    '{ "n":1.0, "id": 12345678901234567890, "messages":[{"content":[\n{"image_url":{"url":';
  const tail = ', "detail" : "low"}} ]}], "b":"\\u0000", "a":1e2 }';
  const url = JSON.stringify(dataUrl(png, "image/png")).replaceAll("/", "\\/");
  const lifted = externalizeMedia(head + url + tail, {
    inlineBytes: 256,
    fields: chat.mediaFields,
  });
  assert.equal(lifted.text, head + JSON.stringify(image) + tail);
});

Deno.test("the same media twice comes once and is named twice", () => {
  const part = { image_url: { url: dataUrl(png, "image/png") } };
  const lifted = lift(chat, { messages: [{ content: [part, part] }] });
  assert.equal(lifted.media.length, 1);
  assert.equal(lifted.text.split(image.sha256).length, 5);
});

Deno.test("media of at most the limit, addresses and other texts stay", () => {
  const small = bytes("\x89PNG\r\n\x1a\n", 256);
  const long = "A".repeat(2000);
  for (
    const [dialect, value] of [
      [chat, { image_url: { url: dataUrl(small, "image/png") } }],
      [chat, { image_url: { url: `https://example.com/${long}` } }],
      [chat, { image_url: { url: `data:image/svg+xml,${long}` } }],
      [chat, { messages: [{ role: "user", content: long }] }],
      [chat, { messages: [{ role: "user", content: dataUrl(png, "image/png") }] }],
      [messages, { source: { type: "text", media_type: "text/plain", data: long } }],
      [responses, { output: [{ type: "reasoning", encrypted_content: long }] }],
      [responses, { output: [{ type: "mcp_call", result: long }] }],
      [generate, { parts: [{ text: "t", thoughtSignature: long }] }],
      [generate, { inlineData: { mimeType: "image/png", data: "no base64! ".repeat(100) } }],
    ] as const
  ) {
    assert.deepEqual(lift(dialect, value), { text: JSON.stringify(value), media: [] });
  }
});

Deno.test("text that was cut in the middle of media stays as it is", () => {
  const text = JSON.stringify({ image_url: { url: dataUrl(png, "image/png") } }).slice(0, -40);
  assert.deepEqual(externalizeMedia(text, { inlineBytes: 256, fields: chat.mediaFields }), {
    text,
    media: [],
  });
});

Deno.test("one byte above the limit is taken out, with and without padding", () => {
  for (let inlineBytes = 100; inlineBytes < 106; inlineBytes++) {
    const content = bytes("\x89PNG", inlineBytes + 1);
    for (const data of [content.toString("base64"), content.toString("base64url")]) {
      const text = JSON.stringify({ inlineData: { mimeType: "image/png", data } });
      const lifted = externalizeMedia(text, { inlineBytes, fields: generate.mediaFields });
      assert.equal(lifted.media.length, 1, `${inlineBytes}`);
    }
  }
});

Deno.test("what was taken out once is not taken out again, wherever it stands", () => {
  const data = png.toString("base64");
  const values = [
    [operations.imageEdits, { "image[]": [{ content_type: "image/png", data }] }],
    [operations.imageEdits, { data: [{ b64_json: data }, { url: dataUrl(png, "image/png") }] }],
    [operations.imageEdits, { image: { url: dataUrl(png, "image/png") }, mask: { url: data } }],
    [operations.imageEdits, { images: [dataUrl(png, "image/png")], image: data }],
    [operations.speech, { audio: { data, mime_type: "audio/wav" } }],
    [chat, { image_url: { url: dataUrl(png, "image/png") } }],
    [generate, { inlineData: { mimeType: "image/png", data } }],
  ] as const;
  for (const [{ mediaFields: fields }, value] of values) {
    const once = externalizeMedia(JSON.stringify(value), { inlineBytes: 16, fields });
    assert.ok(once.media.length > 0);
    assert.deepEqual(externalizeMedia(once.text, { inlineBytes: 16, fields }), {
      ...once,
      media: [],
    });
  }
});
