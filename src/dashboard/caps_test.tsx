import assert from "@std/assert";
import { htmlText } from "./bind.tsx";
import { Caps } from "./caps.tsx";

Deno.test("a cap's bar shows the share that is spent, no per cent less", async () => {
  const valueAt = async (spent: bigint) => {
    const row = { name: "checkout", capDayNanos: 3_000_000_000n, capMonthNanos: null };
    const html = await htmlText(<Caps row={row} spent={{ dayNanos: spent, monthNanos: 0n }} />);
    return Number(/ value="([^"]*)"/.exec(html)?.[1]);
  };
  assert.equal(await valueAt(0n), 0);
  assert.ok(Math.abs(await valueAt(1_000_000_000n) - 100 / 3) < 1e-9);
  assert.ok(await valueAt(2_999_999_999n) < 100);
  assert.equal(await valueAt(4_000_000_000n), 100);
});
