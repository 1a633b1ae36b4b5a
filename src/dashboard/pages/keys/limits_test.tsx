import assert from "@std/assert";
import type { CreditEntry } from "../../../credit/credit_history.ts";
import { CreditEntries } from "./limits.tsx";

Deno.test("the list of credit says so where it may lack grants or corrections", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  const html = (corrections: number) => {
    const more = { nanos: 1_000_000n, note: null, at: now };
    const grant: CreditEntry = { ...more, id: 0n, kind: "grant" };
    const others = Array.from({ length: corrections }, (_, n): CreditEntry => (
      { ...more, id: BigInt(n + 1), kind: "adjust" }
    ));
    return String(<CreditEntries entries={[...others, grant]} now={now} />);
  };
  assert.match(html(20), /The 20 newest grants and the 20 newest corrections are shown/);
  assert.match(html(20), /<td>Grant<\/td>/);
  assert.doesNotMatch(html(19), /newest/);
});
