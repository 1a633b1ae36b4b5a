import assert from "@std/assert";
import { startService } from "../support/process.ts";
import { startTestService, type TestService } from "../support/service.ts";
import {
  asked,
  chatBody,
  chatPath,
  flatPrices,
  postgresSite,
  soundBalance,
  startPayingVendor,
} from "../support/money.ts";

type Body = ReturnType<typeof chatBody>;

async function answerOf(service: TestService, key: string, body: Body, requestId: string) {
  const answer = await asked(service, key).post(chatPath, body, { "x-request-id": requestId });
  const replay = answer.headers.get("x-idempotent-replay");
  const transaction = answer.headers.get("x-transaction-id");
  return { status: answer.status, replay, transaction, text: await answer.text() };
}

postgresSite(
  "20 identical requests to two processes, whole and streamed, are one call and one charge",
  async (site) => {
    await using vendor = await startPayingVendor();
    const settings = {
      ...vendor.env,
      PRICES_FILE: await flatPrices("0.01"),
      STARTING_CREDIT_USD: "1",
    };
    const env = { ...site.env, ...settings };
    const other = await startTestService({ env: { ...site.another(), ...settings } });
    let service = await startTestService({ env });
    const key = other.key;
    const bodyOf = (stream: boolean) => chatBody("[hold] Once.", { stream });
    // All twenty are there before the first is answered.
    setTimeout(() => vendor.release(), 1000);
    for (const stream of [false, true]) {
      const called = vendor.calls;
      const requestId = `once-${stream}`;
      const answers = await Promise.all(
        Array.from(
          { length: 20 },
          (_, at) => answerOf(at % 2 === 0 ? service : other, key, bodyOf(stream), requestId),
        ),
      );
      assert.equal(vendor.calls - called, 1);
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
      assert.equal(answers.filter(({ replay }) => replay === "true").length, 19);
      assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
      assert.equal(new Set(answers.map(({ transaction }) => transaction)).size, 1);
      for (const one of [service, other]) {
        const conflict = await answerOf(one, key, chatBody("Other words."), requestId);
        assert.equal(conflict.status, 409);
        assert.equal(JSON.parse(conflict.text).error.code, "idempotency_conflict");
      }
      // Whichever process made the call: its own export writes first what waits there.
      await asked(service, key).rows({ request_id: requestId });
      assert.equal((await asked(other, key).rows({ request_id: requestId })).length, 1);
    }
    await service.stop();
    service = await startTestService({ env });
    for (const stream of [false, true]) {
      const again = await answerOf(service, key, bodyOf(stream), `once-${stream}`);
      assert.deepEqual([again.status, again.replay], [200, "true"]);
    }
    assert.equal(vendor.calls, 2);
    for (const one of [service, other]) await one.stop();
    assert.equal(await soundBalance(site), 980_000_000n, "two calls of a cent");
  },
);

postgresSite(
  "a process that is killed in the middle of an answer leaves the id to those who ask again",
  async (site) => {
    await using vendor = await startPayingVendor();
    const settings = { ...vendor.env, PRICES_FILE: await flatPrices("0.01") };
    const dying = await startService({ env: { ...site.env, ...settings } });
    const key = dying.firstKey;
    const body = chatBody("[hold] Once.", { stream: true });
    const answer = await asked(dying, key).post(chatPath, body, { "x-request-id": "cut" });
    await answer.body!.getReader().read();
    dying.kill("SIGKILL");
    await dying.status;
    vendor.release();
    const restarted = await startTestService({ env: { ...site.env, ...settings } });
    const again = await answerOf(restarted, key, body, "cut");
    assert.deepEqual([again.status, again.replay], [200, null]);
    assert.match(again.text, /data: \[DONE\]\n\n$/);
    assert.deepEqual((await answerOf(restarted, key, body, "cut")).replay, "true");
    assert.equal(vendor.calls, 2);
    const rows = await asked(restarted, key).rows({ request_id: "cut" });
    assert.deepEqual(rows.map(({ status }) => status).sort(), ["completed", "interrupted"]);
    await restarted.stop();
    assert.equal(await soundBalance(site), 9_990_000_000n);
  },
);
