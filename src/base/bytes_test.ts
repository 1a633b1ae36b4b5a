import assert from "@std/assert";
import { joinBytes } from "./bytes.ts";

Deno.test("pieces come in their order, views as what they show; none are no bytes", () => {
  const view = Uint8Array.of(9, 3, 4, 9).subarray(1, 3);
  assert.deepEqual(
    joinBytes([Uint8Array.of(1, 2), new Uint8Array(), view]),
    Uint8Array.of(1, 2, 3, 4),
  );
  assert.deepEqual(joinBytes([]), new Uint8Array());
});

Deno.test("a single piece is not copied", () => {
  const piece = Uint8Array.of(1);
  assert.equal(joinBytes([piece]), piece);
});
