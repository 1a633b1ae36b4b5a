import assert from "@std/assert";
import { sha256Hex } from "../base/hash.ts";
import { finish, type Steps } from "../base/steps.ts";
import { imageAnswer } from "./image_answer.ts";

const facts = {
  ...{ created: 1, provider: "vendor-b", model: "m", missing: 0, costNanos: null },
  usage: { input: 3, output: 4 },
};
const large = `iVBORw0KGgo${"A".repeat(2_000_005)}`;
const hash = sha256Hex(Uint8Array.fromBase64(large));
const named = {
  ...{ sha256: hash, bytes: 1_500_012, mime_type: "image/png" },
  url: `/api/v1/media/${hash}`,
};
const url = "https://vendor.test/1.png";
const images = [{ data: large, revisedPrompt: "A boât" }, { data: "aGk=" }, { url }];

type Source = { b64_json?: unknown; url?: unknown };

function sourcesOf(written: string | Uint8Array): Source[] {
  const text = typeof written === "string" ? written : new TextDecoder().decode(written);
  return JSON.parse(text).data.map(({ b64_json, url }: Source) => b64_json ?? url);
}

Deno.test("a large image is answered as it came, and is in the record by its hash", () => {
  const steps = imageAnswer({ ...facts, images }, { addressOf: undefined, inlineBytes: 1000 });
  const { body, recordText, recordMedia } = finish(steps);
  assert.deepEqual(sourcesOf(body), [large, "aGk=", url]);
  assert.ok(new TextDecoder().decode(body as Uint8Array).includes("A boât"));
  assert.deepEqual(sourcesOf(recordText), [named, "aGk=", url]);
  assert.deepEqual(recordMedia!.map(({ content }) => content), [Uint8Array.fromBase64(large)]);
});

Deno.test("what the caller gets by address is in the record by hash, however small", () => {
  const addressOf = (sha256: string) => `https://gateway.test/${sha256}`;
  const steps = imageAnswer({ ...facts, images }, { addressOf, inlineBytes: 1000 });
  const { body, recordText, recordMedia } = finish(steps);
  const small = sha256Hex(Uint8Array.fromBase64("aGk="));
  assert.deepEqual(sourcesOf(body), [addressOf(hash), addressOf(small), url]);
  const [first, second, third] = sourcesOf(recordText);
  assert.deepEqual([first, third], [named, url]);
  assert.equal((second as typeof named).sha256, small);
  assert.deepEqual(recordMedia!.map(({ sha256 }) => sha256), [hash, small]);
});

Deno.test("images that came as files, large or small, are answered and recorded like base64", () => {
  const files = [{ bytes: Uint8Array.fromBase64(large) }, { bytes: Uint8Array.fromBase64("aGk=") }];
  const steps = imageAnswer({ ...facts, images: files }, {
    ...{ addressOf: undefined, inlineBytes: 1000 },
  });
  const { body, recordText } = finish(steps);
  assert.deepEqual(sourcesOf(body), [large, "aGk="]);
  assert.deepEqual(sourcesOf(recordText), [named, "aGk="]);
});

Deno.test("large images are written in steps", () => {
  const steps = imageAnswer({ ...facts, images }, { addressOf: undefined, inlineBytes: 1000 });
  assert.ok(stepsOf(steps) > 8);
});

function stepsOf(steps: Steps<unknown>): number {
  let count = 1;
  while (!steps.next().done) count++;
  return count;
}
