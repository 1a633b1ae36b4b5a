import assert from "@std/assert";
import { readConformanceOptions } from "./options.ts";

const needed = ["--base-url", "http://127.0.0.1:8787/", "--key", "dmt_x"];

Deno.test("the options of the conformance table are read, and a wrong one is named", () => {
  const options = readConformanceOptions([...needed, "--model", "a/b", "--model", "c/d/e"]);
  assert.equal(options.baseUrl, "http://127.0.0.1:8787");
  assert.deepEqual(options.models, ["a/b", "c/d/e"]);
  const cases: [string[], RegExp][] = [
    [[], /^--base-url is missing/],
    [needed.slice(0, 2), /^--key is missing/],
    [[...needed, "--base-url", "localhost:8787"], /^--base-url localhost:8787: expected a URL/],
    [[...needed, "--model", "gpt-5-mini"], /^--model gpt-5-mini: expected a vendor and a name/],
    [[...needed, "--vendor", "a"], /--vendor/],
  ];
  for (const [argv, message] of cases) {
    assert.throws(() => readConformanceOptions(argv), { message });
  }
});
