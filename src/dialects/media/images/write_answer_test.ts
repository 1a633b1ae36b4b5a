import assert from "@std/assert";
import { sha256Hex } from "../../../base/hash.ts";
import { finish, type Steps } from "../../../base/steps.ts";
import { writeImageAnswer } from "./write_answer.ts";

const facts = {
  ...{ created: 1, provider: "vendor-b", model: "m", missing: 1, costNanos: null },
  usage: { input: 3, output: 4 },
};
const png = `iVBORw0KGgo${"A".repeat(2_000_005)}`;

Deno.test("large images are written in steps: for the caller, and for the record", () => {
  const images = [{ data: png }, { url: "https://vendor.test/1.png", revisedPrompt: "A boat" }];
  const { text, recordText } = finish(
    writeImageAnswer({ ...facts, images, addressOf: (hash) => `https://gateway.test/${hash}` }),
  );
  const hash = sha256Hex(Uint8Array.fromBase64(png));
  const urls = (written: string) => JSON.parse(written).data.map(({ url }: { url: string }) => url);
  assert.deepEqual(urls(text), [`https://gateway.test/${hash}`, images[1]!.url]);
  const [recorded, address] = urls(recordText);
  assert.ok(recorded === `data:image/png;base64,${png}`);
  assert.equal(address, images[1]!.url);
  const inline = writeImageAnswer({ ...facts, images, addressOf: undefined });
  assert.ok(stepsOf(inline) > 8);
});

Deno.test("an answer of images names what there is to know of each", () => {
  const images = [{ data: "AAAA", revisedPrompt: "A boat" }];
  const { text, recordText } = finish(writeImageAnswer({ ...facts, images, addressOf: undefined }));
  assert.equal(text, recordText);
  assert.equal(
    text,
    '{"created":1,"provider":"vendor-b","model":"m","data":[{"b64_json":"AAAA",' +
      '"revised_prompt":"A boat","index":0}],"filtered_count":1,' +
      '"usage":{"images":1,"input_tokens":3,"output_tokens":4,"total_tokens":7}}',
  );
});

function stepsOf(steps: Steps<unknown>): number {
  let count = 1;
  while (!steps.next().done) count++;
  return count;
}
