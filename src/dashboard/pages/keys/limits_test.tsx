import assert from "@std/assert";
import type { CreditEntry } from "../../../credit/credit_history.ts";
import type { PageRequest } from "../../bind.tsx";
import type { KeyRow } from "../../../keys/key_service.ts";
import { CapsPart, CreditEntries, CreditPart } from "./limits.tsx";

Deno.test("the list of credit says so where it may lack grants or corrections", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  const html = (corrections: number) => {
    const more = { nanos: 1_000_000n, note: null, transactionId: null, at: now };
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

Deno.test("a cap's name leads to the page of its key, where the cap is changed", () => {
  const key = {
    id: "key-1",
    name: "shop",
    prefix: "dmt_abc",
    capDayNanos: 5n,
    capMonthNanos: null,
  };
  const html = String(<CapsPart keys={[key as KeyRow]} spent={new Map()} />);
  assert.match(html, /<a href="\/dashboard\/keys\/key-1">shop<\/a>/);
});

Deno.test("an option of the command that grants credit stays on one line with its value", () => {
  const request = { now: new Date("2026-11-21T12:00:00Z") } as PageRequest;
  const credit = { balanceNanos: 0n, reservedNanos: 0n };
  const props = { credit, entries: [], request, adminCommand: "deno task admin" };
  assert.match(String(<CreditPart {...props} />), /A correction takes credit back/);
  const code = /<code>(.*?)<\/code>/.exec(String(<CreditPart {...props} />))?.[1];
  assert.equal(code, 'deno task admin credits grant <span class="nowrap">--usd 25</span>');
});
