import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import { imageSource, writeImageAnswer } from "./write_answer.ts";

Deno.test("an answer of images names what there is to know of each", () => {
  const images = [{ data: "AAAA", revisedPrompt: "A boat" }, { url: "https://vendor.test/1.png" }];
  const facts = {
    ...{ created: 1, provider: "vendor-b", model: "m", missing: 1, costNanos: null },
    usage: { input: 3, output: 4 },
  };
  assert.equal(
    finish(writeImageAnswer({ ...facts, images }, images.map(imageSource))),
    '{"created":1,"provider":"vendor-b","model":"m","data":[{"b64_json":"AAAA",' +
      '"revised_prompt":"A boat","index":0},{"url":"https://vendor.test/1.png","index":1}],' +
      '"filtered_count":1,' +
      '"usage":{"images":2,"input_tokens":3,"output_tokens":4,"total_tokens":7}}',
  );
});
