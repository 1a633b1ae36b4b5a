import assert from "@std/assert";
import { crc32, sha256Hex, sha256TextSteps } from "./hash.ts";

Deno.test("SHA-256 and CRC-32 match their published check values", () => {
  assert.equal(
    sha256Hex("abc"),
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
  assert.equal(crc32("123456789"), 0xcbf43926);
  assert.equal(crc32(""), 0);
});

Deno.test("text is hashed as UTF-8 bytes", () => {
  const bytes = new TextEncoder().encode("é漢😀");
  assert.equal(sha256Hex("é漢😀"), sha256Hex(bytes));
  assert.equal(crc32("é漢😀"), crc32(bytes));
});

Deno.test("a long text has the same hash in steps, wherever it is cut", () => {
  for (const text of ["", "a", "é".repeat(1_500_000), `a${"😀".repeat(1_200_000)}`]) {
    const steps = sha256TextSteps(text);
    let count = 0;
    let step = steps.next();
    for (; !step.done; step = steps.next()) count++;
    assert.equal(step.value, sha256Hex(text));
    assert.equal(count, Math.max(0, Math.ceil(text.length / (1024 * 1024)) - 1));
  }
});
