import assert from "@std/assert";
import { sha256Hex } from "../base/hash.ts";
import { finish } from "../base/steps.ts";
import { takeFiles, withFiles, withReferences } from "./answer_files.ts";

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

Deno.test("a record has large files by their hash, and others as they were", () => {
  const { text, files } = taken();
  const { recordText, recordMedia } = withReferences(text, files, 100_000);
  assert.equal(
    recordText,
    answer.replace(`"${png}"`, named(png, "image/png"))
      .replace(`"${jpeg}"`, named(jpeg, "image/jpeg")),
  );
  assert.deepEqual(recordMedia, [...files.values()]);
  assert.deepEqual(withReferences(text, files, 200_000), { recordText: answer, recordMedia: [] });
});

Deno.test("the same file is in the record once", () => {
  const twice = new TextEncoder().encode(`["${png}","${png}"]`);
  const { text, files } = finish(takeFiles(twice));
  const { recordText, recordMedia } = withReferences(text, files, 0);
  const reference = named(png, "image/png");
  assert.deepEqual([recordText, recordMedia.length], [`[${reference},${reference}]`, 1]);
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
