import assert from "@std/assert";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { anyDatabase } from "../support/any_database.ts";
import { startTestService } from "../support/service.ts";
import { scriptedModel, streamEvents, wholeAnswer } from "../support/service_scripted.ts";

const path = "/vendor-b/v1/chat/completions";

function bodyOf(stream: boolean, text = "How are you today?") {
  return { model: scriptedModel, messages: [{ role: "user", content: text }], stream };
}

async function answerOf(response: Response) {
  const { status, headers } = response;
  const [replay, transaction, type] = [
    "x-idempotent-replay",
    "x-transaction-id",
    "content-type",
  ].map((name) => headers.get(name));
  return { status, replay, transaction, type, text: await response.text() };
}

Deno.test("20 identical requests at once, whole and streamed, are one call, one charge, one record", async () => {
  let calls = 0;
  await using vendor = await startFakeVendor(async (exchange): Promise<void> => {
    if (exchange.request.method === "GET") return exchange.answer(200, { data: [] });
    calls++;
    await new Promise((resolve) => setTimeout(resolve, 100));
    if (!JSON.parse(exchange.request.body).stream) return exchange.answer(200, wholeAnswer);
    return exchange.stream(streamEvents, { "content-type": "text/event-stream" });
  });
  const dataDir = await Deno.makeTempDir();
  await using database = await anyDatabase();
  const env = {
    ...database.env,
    VENDOR_B_BASE_URL: `${vendor.url}/v1`,
    VENDOR_B_API_KEY: "sk-of-vendor-b-0123456789",
    DATA_DIR: dataDir,
  };
  let key: string;
  {
    await using service = await startTestService({ env });
    key = service.key;
    for (const stream of [false, true]) {
      const headers = { "x-request-id": `stream: ${stream}`.replaceAll(" ", "") };
      calls = 0;
      const answers = await Promise.all(
        Array.from(
          { length: 20 },
          () => service.post(path, bodyOf(stream), headers).then(answerOf),
        ),
      );
      assert.equal(calls, 1);
      assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
      assert.equal(answers.filter(({ replay }) => replay === "true").length, 19);
      assert.equal(new Set(answers.map(({ text, type }) => `${type} ${text}`)).size, 1);
      assert.equal(new Set(answers.map(({ transaction }) => transaction)).size, 1);
      const rows = await service.rows({ request_id: headers["x-request-id"] });
      assert.equal(rows.length, 1);
      const other = await service.post(path, bodyOf(stream, "another"), headers).then(answerOf);
      assert.equal(other.status, 409);
      assert.equal(JSON.parse(other.text).error.code, "idempotency_conflict");
      const without = await service.post(path, bodyOf(stream)).then(answerOf);
      assert.equal(without.replay, null);
    }
  }
  await using restarted = await startTestService({ env });
  calls = 0;
  for (const stream of [false, true]) {
    const answer = await answerOf(
      await restarted.post(path, bodyOf(stream), {
        "x-request-id": `stream:${stream}`,
        authorization: `Bearer ${key}`,
      }),
    );
    assert.deepEqual([answer.status, answer.replay], [200, "true"]);
  }
  assert.equal(calls, 0);
  await Deno.remove(dataDir, { recursive: true }).catch(() => {});
});

Deno.test("a caller who leaves in mid-stream may ask again with the same id", async () => {
  let calls = 0;
  await using vendor = await startFakeVendor(async (exchange): Promise<void> => {
    if (exchange.request.method === "GET") return exchange.answer(200, { data: [] });
    calls++;
    if (calls > 1) return exchange.stream(streamEvents, { "content-type": "text/event-stream" });
    await exchange.head(200, { "content-type": "text/event-stream" });
    await exchange.write(streamEvents[0]!);
    await exchange.closed;
  });
  await using service = await startTestService({
    env: { VENDOR_B_BASE_URL: `${vendor.url}/v1`, VENDOR_B_API_KEY: "sk-of-vendor-b-0123456789" },
  });
  const connection = new AbortController();
  const headers = { "content-type": "application/json", "x-request-id": "left" };
  const init = { method: "POST", headers, body: JSON.stringify(bodyOf(true)) };
  const first = await service.fetch(path, { ...init, signal: connection.signal });
  await first.body!.getReader().read();
  connection.abort();
  const second = await service.fetch(path, init).then(answerOf);
  assert.equal(second.text, streamEvents.filter((event) => !event.includes("usage")).join(""));
  assert.equal(second.replay, null);
  assert.equal(calls, 2);
});
