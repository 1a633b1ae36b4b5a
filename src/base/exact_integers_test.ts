import assert from "@std/assert";
import { withExactIntegers } from "./exact_integers.ts";
import { finish } from "./steps.ts";
import { writeJson } from "./write_json.ts";

const big = "1234567890123456789";

function written(text: string, within?: readonly string[]): string {
  return JSON.stringify(withExactIntegers(text, JSON.parse(text), within && new Set(within)));
}

Deno.test("integers that a number can't hold keep their digits, at every depth", () => {
  for (
    const text of [
      `{"a":${big}}`,
      `[${big},[-${big},{"b":[${big}]}]]`,
      `{"a\\"${big}":"${big}","__proto__":${big},"b":${big}${big}}`,
    ]
  ) assert.equal(written(text), text);
});

Deno.test("other numbers and texts are what they are without", () => {
  const text = `{"a":9007199254740992,"b":0.${big},"c":${big}e3,"d":1e${
    "0".repeat(16)
  }1,"e":"\\"${big}"}`;
  assert.equal(written(text), JSON.stringify(JSON.parse(text)));
  assert.equal(withExactIntegers(big, Number(big)), Number(big));
});

Deno.test("an integer of more than a thousand digits is what it is without", () => {
  const longest = "9".repeat(1000);
  assert.equal(written(`[${longest}]`), `[${longest}]`);
  const text = `{"a":[${"9".repeat(300_000)}],"b":${big}}`;
  const value = withExactIntegers(text, JSON.parse(text));
  assert.equal(finish(writeJson(value)), `{"a":[null],"b":${big}}`);
});

Deno.test("with names, only what lies in members of these names", () => {
  const text = `{"seed":${big},"list":[{"args":{"id":${big}},"args2":${big}}],"args":${big}}`;
  const rounded = Number(big);
  assert.equal(
    written(text, ["args"]),
    `{"seed":${rounded},"list":[{"args":{"id":${big}},"args2":${rounded}}],"args":${rounded}}`,
  );
});

Deno.test("members that aren't the text's, and plain ones, stay", () => {
  const text = `{"model":"a","args":{"id":${big}}}`;
  const value = { ...JSON.parse(text), model: "b", stream: true };
  assert.equal(
    JSON.stringify(withExactIntegers(text, value, new Set(["args"]))),
    `{"model":"b","args":{"id":${big}},"stream":true}`,
  );
});

Deno.test("a text of more than a megabyte, or with over a thousand of them, stays as it was", () => {
  for (
    const text of [
      `{"a":${big},"b":"${"x".repeat(1024 * 1024)}"}`,
      `[${Array(1001).fill(big).join(",")}]`,
    ]
  ) {
    const value = JSON.parse(text);
    assert.equal(withExactIntegers(text, value), value);
  }
  const list = `[${Array(1000).fill(big).join(",")}]`;
  assert.equal(written(list), list);
});
