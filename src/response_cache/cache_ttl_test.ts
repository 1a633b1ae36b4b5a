import assert from "@std/assert";
import { Fault } from "../shared/fault.ts";
import { cacheTtlOf, readCacheTtl } from "./cache_ttl.ts";

Deno.test("a lifetime is a whole number of seconds from 1 to 86400", () => {
  for (const text of ["1", "60", "86400", "00060"]) assert.equal(readCacheTtl(text), Number(text));
  for (const text of ["0", "86401", "-1", "1.5", "1e3", "", " 5", "100000", "ten"]) {
    assert.equal(readCacheTtl(text), undefined, text);
  }
});

Deno.test("the header comes before the key's setting, and 0 leaves a call out", () => {
  assert.equal(cacheTtlOf(undefined, undefined), undefined);
  assert.equal(cacheTtlOf(undefined, 60), 60);
  assert.equal(cacheTtlOf("30", 60), 30);
  assert.equal(cacheTtlOf(" 30 ", undefined), 30);
  assert.equal(cacheTtlOf("0", 60), undefined);
});

Deno.test("any other header is refused by its name", () => {
  for (const text of ["", "86401", "never", "30, 60", "-1"]) {
    assert.throws(() => cacheTtlOf(text, 60), (thrown: unknown) => {
      return thrown instanceof Fault && thrown.code === "invalid_value" &&
        thrown.param === "X-Cache-TTL";
    });
  }
});
