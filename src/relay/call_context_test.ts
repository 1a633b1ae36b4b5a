import assert from "@std/assert";
import { heldBytes } from "../../tests/support/held_bytes.ts";
import { clientOf } from "./call_context.ts";

Deno.test("a client's name is the first product of its user agent, and holds none of the rest", () => {
  const client = (userAgent?: string) => clientOf({ header: () => userAgent });
  assert.equal(client("OpenAI/JS 6.0.0"), "OpenAI/JS");
  assert.equal(client("x".repeat(101)), "x".repeat(100));
  assert.equal(client(), undefined);
  const held = heldBytes(() =>
    Array.from({ length: 1000 }, (_, n) => client(`claude-cli/2.1.${n} ${"x".repeat(9000)}`))
  );
  assert.ok(held < 2_000_000, `${held} bytes`);
});
