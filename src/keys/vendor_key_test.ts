import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { Secret } from "../base/secret.ts";
import { mintKey } from "./credential.ts";
import { lastFourOf, parseVendorKey } from "./vendor_key.ts";

Deno.test("a vendor key is taken without the line's end behind it", () => {
  for (const text of ["sk-proj-1", "sk-proj-1\n", " sk-proj-1\r\n"]) {
    assert.equal(parseVendorKey(text).reveal(), "sk-proj-1");
  }
  assert.equal(parseVendorKey("x".repeat(4096)).reveal().length, 4096);
});

const service = mintKey(new FakeClock()).value.reveal();
const wrong: [string, string, RegExp][] = [
  ["nothing", "", /is missing/],
  ["blanks", " \n", /is missing/],
  ["two lines, which would end a header", "sk-canary\nx-other: 1", /printable ASCII/],
  ["two words", "sk canary", /printable ASCII/],
  ["letters beyond ASCII", "sk-canary-é", /printable ASCII/],
  ["more than a header holds", "canary".repeat(800), /at most 4096/],
  ["a key of this service", service, /key of this service/],
];
for (const [name, text, message] of wrong) {
  Deno.test(`${name} is no vendor key, and the refusal doesn't repeat it`, () => {
    assert.throws(() => parseVendorKey(text), (thrown: unknown) => {
      assert.match(String(thrown), message);
      return text.trim() === "" || !/canary|dmt_/.test(String(thrown));
    });
  });
}

Deno.test("the last four characters are kept for display, none of a short value", () => {
  assert.equal(lastFourOf(new Secret("sk-0123456789abcdef")), "cdef");
  assert.equal(lastFourOf(new Secret("0123456789abcde")), "");
});
