import assert from "@std/assert";
import { gzipSync } from "node:zlib";
import {
  keepConnection,
  rejectsWith,
  text,
  turns,
  until,
  withVendor,
} from "../../tests/support/upstream_setup.ts";
import { within } from "../../tests/support/within.ts";
import type { UpstreamRefusal } from "./upstream.ts";

Deno.test("connections are kept and used again, after retried answers too", () =>
  withVendor(async ({ timers, vendor, post }) => {
    for (let round = 0; round < 3; round++) {
      const calling = post();
      await (await vendor.next()).answer(503, "busy");
      await until(() => timers.nextMs === 250);
      // The refused answer is read away in the meantime.
      await turns();
      timers.advance(250);
      await (await vendor.next()).answer(200, "fine");
      assert.equal(await text(await calling), "fine");
    }
    assert.equal(vendor.requests.length, 6);
    assert.equal(vendor.connections, 1);
  }));

Deno.test("a refused connection is tried three times in all, then it is upstream_unreachable", () =>
  withVendor(async ({ timers, vendor, post }) => {
    await vendor.close();
    const calling = post();
    calling.catch(() => {});
    await until(() => timers.nextMs === 250);
    timers.advance(250);
    await until(() => timers.nextMs === 750);
    timers.advance(750);
    await rejectsWith(calling, "upstream_unreachable");
  }));

Deno.test("with retry: false a failure is final", () =>
  withVendor(async ({ vendor, post }) => {
    const calling = post({ retry: false });
    await (await vendor.next()).answer(503, "busy");
    assert.equal((await calling).status, 503);
    assert.equal(await text(await calling), "busy");
    await vendor.close();
    await rejectsWith(post({ retry: false }), "upstream_unreachable");
  }));

Deno.test("no more tries are made than the call allows, and each is reported", () =>
  withVendor(async ({ timers, vendor, post }) => {
    const told: unknown[] = [];
    const calling = post({ maxTries: 2, onTry: ({ status, error }) => told.push(status ?? error) });
    await (await vendor.next()).answer(503, "busy");
    await until(() => timers.nextMs === 250);
    timers.advance(250);
    await (await vendor.next()).answer(503, "busy");
    assert.equal((await calling).status, 503);
    await text(await calling);
    assert.deepEqual(told, [503, 503]);
    await vendor.close();
    await rejectsWith(
      post({ maxTries: 1, onTry: ({ status, error }) => told.push(status ?? error) }),
      "upstream_unreachable",
    );
    // The one kept connection may only now be found closed, which isn't counted as a try.
    const late = told[2] === "closed" ? ["closed"] : [];
    assert.deepEqual(told, [503, 503, ...late, "ECONNREFUSED"]);
  }));

Deno.test("with retryLimited: false a 429 is final, and what else fails is tried again", () =>
  withVendor(async ({ timers, vendor, post }) => {
    const limited = post({ retryLimited: false });
    await (await vendor.next()).answer(429, "slow");
    assert.equal((await limited).status, 429);
    await text(await limited);
    const busy = post({ retryLimited: false });
    await (await vendor.next()).answer(503, "busy");
    await until(() => timers.nextMs === 250);
    timers.advance(250);
    await (await vendor.next()).answer(200, "fine");
    assert.equal(await text(await busy), "fine");
  }));

Deno.test("a 429 that the caller finds final by its body is returned whole after one try", () =>
  withVendor(async ({ timers, vendor, post }) => {
    const asked: unknown[] = [];
    const isFinal = ({ status, headers }: UpstreamRefusal, body: string) => {
      asked.push([status, headers["x-why"], body]);
      return body.includes("quota");
    };
    const final = post({ isFinal });
    await (await vendor.next()).answer(429, "no quota", { "x-why": "paid" });
    await until(() => timers.nextMs === 250);
    await turns();
    timers.advance(250);
    const answer = await final;
    assert.deepEqual([answer.status, answer.attempts], [429, 1]);
    assert.equal(await text(answer), "no quota");
    assert.deepEqual(asked, [[429, "paid", "no quota"]]);

    // Some front ends compress what was asked for as it is.
    const packed = post({ isFinal });
    const exchange = await vendor.next();
    await exchange.head(429, { "content-encoding": "gzip" }, "chunked");
    await exchange.write(gzipSync("no quota either"));
    await exchange.end();
    await until(() => timers.nextMs === 250);
    await turns();
    timers.advance(250);
    assert.equal((await packed).attempts, 1);
    assert.equal(await text(await packed), "no quota either");

    const limited = post({ isFinal });
    await (await vendor.next()).answer(429, "slow");
    await until(() => timers.nextMs === 250);
    await turns();
    timers.advance(250);
    await (await vendor.next()).answer(200, "fine");
    assert.equal(await text(await limited), "fine");
    assert.equal(vendor.connections, 1);
  }));

Deno.test("a 429 whose body is late, cut or larger than 64 KiB is tried again without a question", () =>
  withVendor(async ({ timers, vendor, post }) => {
    const isFinal = () => assert.fail("of a part of the body");
    const large = "x".repeat(64 * 1024 + 1);
    for (const how of ["late", "cut", "large"] as const) {
      const calling = post({ isFinal });
      const exchange = await vendor.next();
      if (how === "large") await exchange.answer(429, large);
      else await exchange.head(429);
      if (how !== "large") await exchange.write("no quota");
      if (how === "cut") exchange.cut();
      await until(() => timers.nextMs === 250);
      await turns();
      timers.advance(250);
      await (await vendor.next()).answer(200, "fine");
      assert.equal(await text(await calling), "fine");
    }
  }));

Deno.test("a fresh connection that closes before an answer is not tried again", () =>
  withVendor(async ({ vendor, post }) => {
    for (const how of ["cut", "reset"] as const) {
      const calling = post();
      (await vendor.next())[how]();
      await rejectsWith(calling, "upstream_unreachable");
    }
    assert.equal(vendor.requests.length, 2);
  }));

Deno.test("a kept connection that had been closed is replaced at once and costs no retry", () =>
  withVendor(async ({ timers, vendor, post }) => {
    for (const how of ["cut", "reset"] as const) {
      const kept = [post(), post()];
      for (const exchange of [await vendor.next(), await vendor.next()]) {
        await exchange.answer(200, "kept");
      }
      await Promise.all(kept.map(async (calling) => await text(await calling)));
      const { connections } = vendor;
      const second = post();
      const stale = await vendor.next();
      stale[how]();
      const refused = await vendor.next();
      assert.equal(refused.connection, connections + 1, "the other kept one isn't trusted either");
      await refused.answer(503, "busy");
      await until(() => timers.nextMs === 250);
      timers.advance(250);
      await (await vendor.next()).answer(503, "busy");
      await until(() => timers.nextMs === 750);
      timers.advance(750);
      await (await vendor.next()).answer(200, "two");
      const answer = await second;
      assert.equal(await text(answer), "two");
      assert.equal(answer.attempts, 4);
      assert.deepEqual(answer.attemptLog.map((entry) => entry.status), [undefined, 503, 503, 200]);
    }
  }));

Deno.test("a kept connection that breaks while its vendor is at work is no reason to ask twice", () =>
  withVendor(async ({ timers, vendor, post }) => {
    for (const how of ["cut", "reset"] as const) {
      await keepConnection({ vendor, post });
      const before = vendor.requests.length;
      const calling = post();
      const atWork = await vendor.next();
      timers.advance(60_000);
      atWork[how]();
      await rejectsWith(calling, "upstream_unreachable");
      await turns();
      assert.equal(vendor.requests.length, before + 1);
    }
  }));

Deno.test("a kept connection that breaks once an answer has begun is no reason to ask twice", () =>
  withVendor(async ({ vendor, post }) => {
    for (const begun of ["HTTP/1.1 103 Early Hints\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-"]) {
      await keepConnection({ vendor, post });
      const before = vendor.requests.length;
      const calling = post();
      const exchange = await vendor.next();
      await exchange.raw(begun);
      exchange.cut();
      await rejectsWith(within(30_000, calling), "upstream_unreachable");
      await turns();
      assert.equal(vendor.requests.length, before + 1);
    }
    // An empty line may belong to the answer before.
    await keepConnection({ vendor, post });
    const calling = post();
    const exchange = await vendor.next();
    await exchange.raw("\r\n");
    exchange.cut();
    await (await vendor.next()).answer(200, "again");
    assert.equal(await text(await calling), "again");
  }));

Deno.test("a Retry-After beyond the two seconds is answered at once, within them it is waited for", () =>
  withVendor(async ({ timers, vendor, post }) => {
    const long = post();
    await (await vendor.next()).answer(429, "slow down", { "retry-after": "3" });
    const refused = await long;
    assert.equal(refused.status, 429);
    assert.equal(refused.headers["retry-after"], "3");
    assert.equal(await text(refused), "slow down");
    const short = post();
    await (await vendor.next()).answer(429, "", { "retry-after": "1" });
    await until(() => timers.nextMs === 1000);
    timers.advance(1000);
    await (await vendor.next()).answer(400, "no");
    assert.equal((await short).status, 400);
    assert.equal(await text(await short), "no");
    assert.equal(vendor.requests.length, 3);
  }));
