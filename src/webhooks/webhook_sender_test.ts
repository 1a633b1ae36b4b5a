import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { Secret } from "../base/secret.ts";
import type { PublicPost } from "../vendors/public_fetch.ts";
import { nextAttempt, type WebhookDelivery } from "./webhook.ts";
import { createWebhookSender } from "./webhook_sender.ts";

const day = 24 * 3_600_000;

/** A sender of events that wait, and what becomes of them. */
function setUp(
  post: PublicPost["post"],
  more: Partial<WebhookDelivery> = {},
  { isUrlChanged = false, events = 1 } = {},
) {
  const clock = new FakeClock();
  const at = clock.now();
  const delivery: WebhookDelivery = {
    ...{ id: "msg_1", webhookId: "hook", accountId: 1, url: "https://hooks.example", at },
    ...{ secret: new Secret("whsec_AAAA"), type: "webhook.test", data: {}, attempts: 0 },
    endsAt: new Date(at.getTime() + day),
    ...more,
  };
  const outcomes: unknown[] = [];
  const warned: unknown[] = [];
  const waiting = Array.from({ length: events }, (_, n) => ({ ...delivery, id: `msg_${n + 1}` }));
  const sender = createWebhookSender({
    store: {
      claim: () => Promise.resolve(waiting.pop()),
      renew: (all) => Promise.resolve(new Set(all.map(({ id }) => id))),
      finish(_, attempted) {
        outcomes.push(attempted);
        if (attempted.kind === "sent") return Promise.resolve("sent");
        return Promise.resolve(attempted.nextAt || isUrlChanged ? "waiting" : "lost");
      },
      release: () => Promise.resolve(void outcomes.push("released")),
    },
    ...{ post, clock },
    log: { warn: (_, values) => void warned.push(values) },
  });
  const counts = () => {
    const measure = sender.measures.gateway_webhook_attempts_total!;
    const values = "readAll" in measure ? measure.readAll() : [];
    return Object.fromEntries(values.map(({ labels, value }) => [labels.outcome, value]));
  };
  return { sender, outcomes, warned, counts, at };
}

/** Lets everything happen that waits for nothing but its turn. */
async function settleDown(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve();
}

Deno.test("an event is sent if the status is 2xx, else tried again, and lost if its day is over", async () => {
  const attempt = async (status: number, more: Partial<WebhookDelivery> = {}) => {
    const { sender, outcomes, warned, counts, at } = setUp(() => Promise.resolve(status), more);
    await sender.tick();
    await settleDown();
    return { outcomes, warned, counts: counts(), at };
  };
  for (const status of [200, 299]) {
    const { outcomes, counts, at } = await attempt(status);
    assert.deepEqual(outcomes, [{ kind: "sent", at }]);
    assert.deepEqual(counts, { sent: 1, failed: 0, lost: 0 });
  }
  for (const status of [199, 300]) {
    const { outcomes, warned, counts, at } = await attempt(status);
    const reason = `the URL answered with status ${status}`;
    const nextAt = new Date(at.getTime() + 5_000);
    assert.deepEqual(outcomes, [{ kind: "failed", at, reason, nextAt }]);
    assert.deepEqual([counts, warned], [{ sent: 0, failed: 1, lost: 0 }, []]);
  }
  const { outcomes, warned, counts, at } = await attempt(500, { endsAt: new FakeClock().now() });
  const reason = "the URL answered with status 500";
  assert.deepEqual(outcomes, [{ kind: "failed", at, reason, nextAt: null }]);
  assert.deepEqual(counts, { sent: 0, failed: 0, lost: 1 });
  assert.deepEqual(warned, [{ webhook: "hook", event: "webhook.test", reason }]);
});

Deno.test("the last attempt at a URL that was changed meanwhile loses no event", async () => {
  const endsAt = new FakeClock().now();
  const { sender, warned, counts } = setUp(() => Promise.resolve(500), { endsAt }, {
    isUrlChanged: true,
  });
  await sender.tick();
  await settleDown();
  assert.deepEqual([counts(), warned], [{ sent: 0, failed: 1, lost: 0 }, []]);
});

Deno.test("eight events are sent at a time, and the next as soon as one has ended", async () => {
  const posts: PromiseWithResolvers<number>[] = [];
  const post = () => {
    const one = Promise.withResolvers<number>();
    posts.push(one);
    return one.promise;
  };
  const { sender, counts } = setUp(post, {}, { events: 10 });
  await sender.tick();
  assert.equal(posts.length, 8);
  posts[0]!.resolve(200);
  await settleDown();
  assert.deepEqual([posts.length, counts().sent], [9, 1]);
  sender.wake();
  await settleDown();
  assert.equal(posts.length, 9);
  for (const one of posts) one.resolve(200);
  await settleDown();
  posts[9]!.resolve(200);
  await settleDown();
  await sender.close();
  assert.equal(counts().sent, 10);
});

Deno.test("why an event could not be sent is noted in at most 200 characters", async () => {
  const { sender, outcomes } = setUp(() => Promise.reject(new Error("x".repeat(300))));
  await sender.tick();
  await settleDown();
  const [{ reason }] = outcomes as [{ reason: string }];
  assert.equal(reason, "x".repeat(200));
});

Deno.test("an attempt that the end of the process cuts off is none: another process makes it", async () => {
  const { sender, outcomes, counts } = setUp((_, { signal }) =>
    new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)))
  );
  await sender.tick();
  await sender.close();
  assert.deepEqual(outcomes, ["released"]);
  assert.deepEqual(counts(), { sent: 0, failed: 0, lost: 0 });
});

Deno.test("the pauses grow up to four hours, and none leads to the end of an event's day", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  const endsAt = new Date(now.getTime() + day);
  const pauses = Array.from(
    { length: 10 },
    (_, attempts) => (nextAttempt({ attempts, endsAt }, now)!.getTime() - now.getTime()) / 60_000,
  );
  assert.deepEqual(pauses, [5 / 60, 0.5, 2, 10, 30, 60, 120, 240, 240, 240]);
  const end = (ms: number) => ({ attempts: 0, endsAt: new Date(now.getTime() + ms) });
  assert.equal(nextAttempt(end(5_000), now), null);
  assert.notEqual(nextAttempt(end(5_001), now), null);
});
