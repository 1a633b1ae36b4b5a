import assert from "@std/assert";
import { assertHit, type CachedReply, cachedReply } from "../support/cached_calls.ts";
import {
  asked,
  chatBody,
  chatPath,
  eachSite,
  flatPrices,
  postgresSite,
  soundBalance,
  startPayingVendor,
} from "../support/money.ts";
import { startService } from "../support/process.ts";
import { startTestService } from "../support/service.ts";

/** A service as a program, or in this process. */
interface Service {
  readonly baseUrl: string;
}

async function ask(
  service: Service,
  key: string,
  body: unknown,
  headers = {},
): Promise<CachedReply> {
  const ttl = { "x-cache-ttl": "600" };
  return await cachedReply(
    await asked(service, key).post(chatPath, body, { ...ttl, ...headers }),
  );
}

async function erase(service: Service, key: string, selectors: Record<string, unknown>) {
  const answer = await asked(service, key).fetch("/api/v1/data", {
    method: "DELETE",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ confirm: true, ...selectors }),
  });
  assert.equal(answer.status, 200, await answer.text());
}

postgresSite("an answer is there for every process, and erased in every process at once", async (
  site,
) => {
  await using vendor = await startPayingVendor();
  const settings = { ...vendor.env, PRICES_FILE: await flatPrices("0.01") };
  const [one, other] = await Promise.all([
    startTestService({ env: { ...site.env, ...settings } }),
    startTestService({ env: { ...site.another(), ...settings } }),
  ]);
  const key = one.key || other.key;
  for (const stream of [false, true]) {
    const body = chatBody("For all.", { stream });
    const filled = await ask(one, key, body, { "x-user-id": "ann" });
    assert.deepEqual([filled.status, filled.cache], [200, "MISS"]);
    // Its last byte does not wait for the store: within three seconds every process finds it.
    assertHit(filled, await ask(one, key, body));
    assertHit(filled, await ask(other, key, body));
    await asked(one, key).rows({});
    // Whichever process erases it, none returns the answer afterwards, nor does its creator.
    const [eraser, next] = stream ? [one, other] : [other, one];
    const made = vendor.calls;
    await erase(eraser, key, { transaction_ids: [filled.transaction] });
    assert.equal((await ask(next, key, body)).cache, "MISS");
    // Who asks where it is being stored waits for that.
    assert.equal((await ask(next, key, body)).cache, "HIT");
    assert.equal((await ask(eraser, key, body)).cache, "HIT");
    assert.equal(vendor.calls, made + 1);
  }
  assert.equal(vendor.calls, 4);
  for (const each of [one, other]) await each.stop();
  assert.equal(await soundBalance(site), 9_960_000_000n, "four calls of a cent");
});

eachSite("a process that is killed in the middle of an answer leaves nothing of it", async (
  site,
) => {
  await using vendor = await startPayingVendor();
  const env = { ...site.env, ...vendor.env, PRICES_FILE: await flatPrices("0.01") };
  const dying = await startService({ env });
  const key = dying.firstKey;
  const whole = await ask(dying, key, chatBody("Whole."));
  const body = chatBody("[hold] Half.", { stream: true });
  const answer = await asked(dying, key).post(chatPath, body, { "x-cache-ttl": "600" });
  assert.equal(answer.headers.get("x-cache"), "MISS");
  await answer.body!.getReader().read();
  // It has been stored by the time that a second call finds it.
  assertHit(whole, await ask(dying, key, chatBody("Whole.")));
  dying.kill("SIGKILL");
  await dying.status;
  vendor.release();
  const restarted = await startTestService({ env });
  assertHit(whole, await ask(restarted, key, chatBody("Whole.")));
  const next = await ask(restarted, key, body);
  assert.deepEqual([next.status, next.cache], [200, "MISS"]);
  assert.match(next.text, /data: \[DONE\]\n\n$/);
  assertHit(next, await ask(restarted, key, body));
  const rows = await asked(restarted, key).rows({});
  assert.deepEqual(
    rows.map(({ status, cache }) => `${status} ${cache}`).sort(),
    [
      ...["completed hit", "completed hit", "completed hit"],
      ...["completed miss", "completed miss", "interrupted miss"],
    ],
  );
  await restarted.stop();
});
