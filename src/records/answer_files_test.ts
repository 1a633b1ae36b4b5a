import assert from "@std/assert";
import { sha256Hex } from "../base/hash.ts";
import { finish } from "../base/steps.ts";
import { imageGenerations } from "../dialects/media/operations/images.ts";
import { takeFiles, withFiles } from "./answer_files.ts";
import { type AnswerFiles, externalizeMedia } from "./externalize_media.ts";

/** Base64 that is long enough to be taken out, and differs by its beginning. */
function file(beginning: string): string {
  return beginning + "A".repeat(160_000 - beginning.length);
}

const png = file("iVBORw0KGgo");
const jpeg = file("/9j/");
const answer = `{"data":[{"b64_json":"${png}","revised_prompt":"Ein Boot für \\"zwei\\" 🚤"}, ` +
  `{"b64_json" : "${jpeg}"}],"n":1.0}`;
const bytes = new TextEncoder().encode(answer);
const taken = () => finish(takeFiles(bytes));

function named(base64: string, type: string) {
  const content = Uint8Array.fromBase64(base64);
  const sha256 = sha256Hex(content);
  const facts = { sha256, bytes: content.length, mime_type: type };
  return JSON.stringify({ ...facts, url: `/api/v1/media/${sha256}` });
}

Deno.test("the files of an answer are taken out of its bytes, and put back", () => {
  const { text, files } = taken();
  assert.ok(text.length < 300);
  assert.deepEqual([...files.values()].map(({ mimeType }) => mimeType), [
    "image/png",
    "image/jpeg",
  ]);
  assert.deepEqual(finish(withFiles(text, files)), bytes);
});

function recorded(text: string, files: AnswerFiles, inlineBytes: number) {
  return externalizeMedia(text, { inlineBytes, files, fields: imageGenerations.mediaFields });
}

Deno.test("a record has large files by their hash, and others as they were", () => {
  const { text, files } = taken();
  const { text: left, media } = recorded(text, files, 100_000);
  assert.equal(
    left,
    answer.replace(`"${png}"`, named(png, "image/png"))
      .replace(`"${jpeg}"`, named(jpeg, "image/jpeg")),
  );
  assert.deepEqual(media, [...files.values()]);
  assert.deepEqual(recorded(text, files, 200_000), { text: answer, media: [] });
});

Deno.test("the same file is in the record once", () => {
  const twice = new TextEncoder().encode(`{"b64_json":["${png}","${png}"]}`);
  const { text, files } = finish(takeFiles(twice));
  const { text: left, media } = recorded(text, files, 0);
  const reference = named(png, "image/png");
  assert.deepEqual([left, media.length], [`{"b64_json":[${reference},${reference}]}`, 1]);
});

Deno.test("a record has a file's declared type, and what is in no field of media as it was", () => {
  const unknown = file("AAAA");
  const image = `{"mime_type":"image/avif","b64_json":"${unknown}"}`;
  const nested = `${"[".repeat(40)}"${png}"${"]".repeat(40)}`;
  const whole = `{"data":[${image}],"id":"${png}","b64_json":${nested}}`;
  const { text, files } = finish(takeFiles(new TextEncoder().encode(whole)));
  const { text: left, media } = recorded(text, files, 1000);
  assert.equal(left, whole.replace(`"${unknown}"`, named(unknown, "image/avif")));
  assert.deepEqual(media.map(({ mimeType }) => mimeType), ["image/avif"]);
});

Deno.test("what is no large string of plain base64 stays in the text", () => {
  const long = "A".repeat(160_000);
  for (
    const text of [
      `{"url":"data:image/png;base64,${png}"}`,
      `{"b64_json":"${png.slice(0, -1)}"}`,
      `{"b64_json":"\\/${png}"}`,
      `{"b64_json":"${long}-_${long}AA"}`,
      `{"b64_json":"${long}\\n${long}"}`,
      `{"b64_json":"${png.slice(0, 100_000)}"}`,
      `{"${png}":1}`,
      `{"b64_json":"${png}`,
      "",
    ]
  ) {
    const { text: left, files } = finish(takeFiles(new TextEncoder().encode(text)));
    assert.ok(left === text, text.slice(0, 40));
    assert.equal(files.size, 0);
  }
});
