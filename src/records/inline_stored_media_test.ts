import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { chat } from "../dialects/text/chat/mod.ts";
import { generate } from "../dialects/text/generate/mod.ts";
import { messages } from "../dialects/text/messages/mod.ts";
import { responses } from "../dialects/text/responses/mod.ts";
import { externalizeMedia } from "./externalize_media.ts";
import { inlineStoredMedia } from "./inline_stored_media.ts";

const png = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), Buffer.alloc(500, 3)]);
const data = png.toString("base64");
const address = `data:image/png;base64,${data}`;
/** Says what a lifted medium says, in words. */
const quote = `{"sha256":"${"a".repeat(64)}","bytes":1,"mime_type":"x","url":"/api/v1/media/"}`;

const requests = [
  [chat, {
    messages: [{
      role: "user",
      content: [
        { type: "text", text: quote },
        { type: "image_url", image_url: { detail: "low", url: address } },
        { type: "input_audio", input_audio: { data, format: "wav" } },
        { type: "file", file: { filename: "a.png", file_data: address } },
      ],
    }],
  }],
  [responses, {
    input: [{ role: "user", content: [{ type: "input_image", image_url: address }] }],
  }],
  [messages, {
    messages: [{ source: { type: "base64", media_type: "image/png", data } }, { text: "é \n" }],
  }],
  [generate, { contents: [{ parts: [{ inlineData: { mimeType: "image/png", data } }] }] }],
] as const;

for (const [dialect, request] of requests) {
  Deno.test(`media of ${dialect.name} stands where it was before it was taken out`, async () => {
    const text = JSON.stringify(request, null, 1);
    const lifted = externalizeMedia(text, { inlineBytes: 100, fields: dialect.mediaFields });
    assert.ok(lifted.text.length < text.length);
    const read = (sha256: string) =>
      Promise.resolve(lifted.media.find((one) => one.sha256 === sha256)?.content);
    assert.equal(await inlineStoredMedia(lifted.text, dialect.mediaFields, read), text);
    const gone = () => Promise.resolve(undefined);
    assert.equal(await inlineStoredMedia(lifted.text, dialect.mediaFields, gone), undefined);
    assert.equal(await inlineStoredMedia(text, dialect.mediaFields, gone), text);
  });
}

Deno.test("a request that names the same medium a thousand times over gets nothing back", async () => {
  const sha256 = "0".repeat(64);
  const named = `"url":{"sha256":"${sha256}","bytes":1,"mime_type":"image/png",` +
    `"url":"/api/v1/media/${sha256}"}`;
  const large = new Uint8Array(8 * 1024 * 1024);
  let reads = 0;
  const restored = await inlineStoredMedia(
    `[${Array(1_000).fill(`{${named}}`).join(",")}]`,
    chat.mediaFields,
    () => {
      reads++;
      return Promise.resolve(large);
    },
  );
  assert.equal(restored, undefined);
  assert.ok(reads < 10, String(reads));
});
