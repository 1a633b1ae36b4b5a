/** Whatever bytes come on one connection, in whatever state, reach nobody else's call. */
import assert from "@std/assert";
import { startEchoVendor } from "../support/echo_vendor.ts";
import { injected, startOddHeads } from "../support/odd_heads.ts";
import { kinds, MarkedCalls, oddSeconds } from "../support/marked_calls.ts";
import { startService } from "../support/process.ts";
import { Random } from "../support/random.ts";

const { seconds, minCalls } = oddSeconds(3);

Deno.test(`odd heads of every kind for ${seconds} s: each call's answer is its own`, async () => {
  await using vendor = await startEchoVendor();
  const env = { VENDOR_F_BASE_URL: `${vendor.url}/v1`, JOURNAL_SYNC: "interval" };
  await using service = await startService({ env });
  const odd = startOddHeads(Number(new URL(service.baseUrl).port), 8, new Random(14));
  const calls = new MarkedCalls(service, injected);
  const untilMs = Date.now() + seconds * 1000;
  const caller = async (_: unknown, number: number) => {
    while (Date.now() < untilMs || calls.made < minCalls) {
      await calls.make(kinds[(calls.made + number) % kinds.length]!, "vendor-f/m");
    }
  };
  await Promise.race([
    Promise.all(Array.from({ length: 6 }, caller)),
    service.status.then(({ code }) => assert.fail(`the service ended with ${code}`)),
  ]);
  await odd.stop();
  console.log(`${odd.sent} odd connections beside ${calls.told}`);
  assert.deepEqual(calls.wrong.slice(0, 5), [], calls.told);
  assert.doesNotMatch(service.output(), /Uncaught|TypeError|HPE_|internal_error/);
  assert.ok(odd.sent > 20, `only ${odd.sent} odd connections`);
  assert.equal(await service.stop(), 0);
});
