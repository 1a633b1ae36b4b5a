import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { addressKey, createFailureLimit } from "./failure_limit.ts";

Deno.test("an address that fails too often gets Retry-After, and others do not", () => {
  const clock = new FakeClock();
  const limit = createFailureLimit(clock, { burst: 3, perSecond: 2 });
  for (let n = 0; n < 3; n++) assert.equal(limit.fail("10.0.0.1"), 0);
  assert.ok(limit.isReached("10.0.0.1"));
  for (let n = 0; n < 9; n++) assert.equal(limit.fail("10.0.0.1"), 1);
  assert.equal(limit.fail("10.0.0.2"), 0);
  clock.advance(500);
  assert.ok(!limit.isReached("10.0.0.1"));
  assert.equal(limit.fail("10.0.0.1"), 0);
  assert.equal(limit.fail("10.0.0.1"), 1);
  const slow = createFailureLimit(clock, { burst: 1, perSecond: 0.1 });
  slow.fail("10.0.0.1");
  clock.advance(2_500);
  assert.equal(slow.fail("10.0.0.1"), 8);
});

Deno.test("addresses of one IPv6 network count as one, and invalid ones together as another", () => {
  assert.equal(addressKey("2001:db8::1"), addressKey("2001:0db8:0:0:ffff::2"));
  assert.notEqual(addressKey("2001:db8:0:1::1"), addressKey("2001:db8:0:2::1"));
  assert.equal(addressKey("1:2::5:6:7:8:9"), addressKey("1:2:0:5::1"));
  assert.notEqual(addressKey("::1"), addressKey("1::"));
  assert.equal(addressKey("[2001:db8::1]:443"), addressKey("2001:db8::9"));
  assert.equal(addressKey("::ffff:10.0.0.1"), addressKey("10.0.0.1:5000"));
  assert.notEqual(addressKey("10.0.0.1"), addressKey("10.0.0.2"));
  // As they stand in a list of proxies.
  assert.equal(addressKey(" 10.0.0.1"), addressKey("10.0.0.1"));
  assert.equal(addressKey("2001:DB8:A::1"), addressKey("2001:db8:a::9"));
  for (const whole of ["1:2:3:4:5:6:7:8", "1:2:3:4::", "1:2:3:4::8%eth0"]) {
    assert.equal(addressKey(whole), addressKey("1:2:3:4::9"), whole);
  }
  assert.equal(addressKey("::2:3:4:5:6:7:8"), addressKey("0:2:3:4::9"));
  for (const odd of ["", "unknown", "127.evil", "_hidden", ":".repeat(9999), "x".repeat(9999)]) {
    assert.ok(addressKey(odd).length < 60, odd.slice(0, 20));
  }
  for (const odd of ["127.evil", "fade", "2001:evil::1", ":".repeat(65)]) {
    assert.equal(addressKey(odd), addressKey("unknown"), odd.slice(0, 20));
  }
});

Deno.test("memory is bounded however many addresses fail", () => {
  const limit = createFailureLimit(new FakeClock(), { burst: 1, perSecond: 1 });
  limit.fail("8.8.8.8");
  limit.fail("9.9.9.9");
  for (let n = 0; n < 19_998; n++) limit.fail(`11.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
  limit.fail("8.8.8.8");
  limit.fail("7.7.7.7");
  assert.ok(!limit.isReached("9.9.9.9"), "it failed longest ago");
  assert.ok(limit.isReached("8.8.8.8"), "it failed again");
  for (let n = 0; n < 30_000; n++) limit.fail(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`);
  assert.ok(!limit.isReached("8.8.8.8"), "forgotten, so as good as new");
  assert.ok(limit.isReached("10.0.117.47"));
});
