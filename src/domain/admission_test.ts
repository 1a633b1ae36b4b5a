import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { createAdmission } from "./admission.ts";

function admissionOf(maxUnderWay = 100_000) {
  const clock = new FakeClock();
  const admission = createAdmission({ maxUnderWay, clock });
  const fill = (who: string, most = 5_000) => {
    let taken = 0;
    while (taken < most && !admission.refuses(who)) taken++;
    return taken;
  };
  return { admission, clock, fill };
}

Deno.test("no account can have all calls under way: each newcomer finds room", () => {
  const { admission, fill } = admissionOf(1_000);
  for (let account = 1; account <= 8; account++) {
    const share = 250 * 0.75 ** (account - 1);
    const taken = fill(`account ${account}`);
    assert.ok(Math.abs(taken - share) < 4, `${taken} for account ${account}`);
  }
  assert.equal(admission.refuses("account 9"), false);
});

Deno.test("while the loop turns in time a crowd that comes at once is let in", () => {
  const { admission, fill } = admissionOf();
  admission.lag(300);
  assert.equal(fill("a"), 5_000);
  assert.equal(admission.refused, 0);
});

Deno.test("while the loop is late a caller has a share of what is worked on, and others find room", () => {
  const { admission, clock, fill } = admissionOf();
  admission.lag(500);
  assert.equal(fill("greedy"), 256);
  assert.ok(fill("modest", 10) === 10);
  assert.ok(admission.refused > 0);
  // What is done, or waits for its vendor, makes room.
  for (let call = 0; call < 100; call++) admission.waits("greedy", 1);
  assert.ok(fill("greedy") >= 90);
  clock.advance(2_001);
  assert.equal(fill("greedy"), 5_000, "all is well again");
});

Deno.test("calls that ended leave nothing behind", () => {
  const { admission, fill } = admissionOf();
  const taken = fill("a", 50);
  admission.waits("a", 1);
  for (let call = 0; call < taken; call++) admission.ended("a");
  // In whatever order the ends are heard.
  admission.waits("a", -1);
  assert.equal(admission.underWay, 0);
  admission.lag(500);
  assert.equal(fill("a"), 256);
});
