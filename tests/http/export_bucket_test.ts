import assert from "@std/assert";
import { bucketSecret, startBucket } from "../support/bucket.ts";
import { eachService } from "../support/each_service.ts";
import { startTestService, type TestService } from "../support/service.ts";

const path = "/api/v1/exports";
const everything = { start_date: "2026-01-01T00:00:00Z" };

/** Calls of nearly a MiB each: more than one part of an upload. */
async function manyBytes(service: TestService): Promise<void> {
  const granted = await service.admin("credits", "grant", "--usd", "1000");
  assert.equal(granted.exitCode, 0, granted.lines.join());
  for (let n = 0; n < 7; n++) {
    const content = `call ${n} ` + String(n).repeat(900_000);
    const answer = await service.post("/chat/v1/chat/completions", {
      model: "vendor-b/gpt-4.1",
      messages: [{ role: "user", content }],
    });
    assert.equal(answer.status, 200);
    await answer.body?.cancel();
  }
}

async function bytesOf(answer: Response): Promise<Uint8Array> {
  assert.ok(answer.ok, String(answer.status));
  return new Uint8Array(await answer.arrayBuffer());
}

const bucket = await startBucket();
Deno.test.afterAll(async () => await bucket[Symbol.asyncDispose]());

eachService(
  "a bucket export is uploaded in parts; its address gives the same bytes",
  bucket.env,
  async (service) => {
    await manyBytes(service);
    const answer = await service.post(path, everything);
    const said = await answer.json();
    assert.equal(answer.status, 200, JSON.stringify(said));
    assert.deepEqual(Object.keys(said), ["export_url"]);
    const direct = await bytesOf(await service.post(path, { ...everything, delivery: "stream" }));
    assert.ok(direct.length > 6 * 1024 * 1024, `${direct.length} bytes`);
    const signed = await fetch(said.export_url);
    assert.equal(signed.headers.get("content-type"), "application/json");
    assert.deepEqual(await bytesOf(signed), direct);
    const { data } = await (await service.fetch(path)).json();
    const [{ request_id, bytes_size, state }] = data;
    assert.deepEqual([data.length, state, bytes_size], [1, "ready", direct.length]);
    assert.ok(said.export_url.includes(`/exports/team/daily/${request_id}/1.json?`));
    assert.match(said.export_url, /X-Amz-Signature=[0-9a-f]{64}/);
    const parts = bucket.requests.filter((one) =>
      one.startsWith("PUT") && one.includes(request_id) && one.includes("partNumber")
    );
    assert.ok(parts.length >= 2, `${parts.length} parts`);
    // The same file through us, resumed.
    const resumed = await service.fetch(`${path}/${request_id}/stream`, {
      headers: { range: "bytes=1000000-" },
    });
    assert.equal(resumed.status, 206);
    assert.deepEqual(await bytesOf(resumed), direct.slice(1_000_000));
    // Deleted, it is gone from the bucket too.
    const removed = await service.fetch(`${path}/${request_id}`, { method: "DELETE" });
    assert.equal(removed.status, 200, await removed.text());
    assert.deepEqual((await bucket.keys()).filter((key) => key.includes(request_id)), []);
    const gone = await fetch(said.export_url);
    assert.equal(gone.status, 404, await gone.text());
    assert.ok(!service.log.join("\n").includes(bucketSecret));
  },
);

eachService(
  "with a bucket the other forms are there when asked for",
  bucket.env,
  async (service) => {
    const made = await service.post(path, { range: { start: "2026-01-01", end: "2026-01-02" } });
    const job = await made.json();
    assert.deepEqual(Object.keys(job), ["status", "request_id", "bytes_size", "message"]);
    assert.deepEqual((await bucket.keys()).filter((key) => key.includes(job.request_id)), []);
    const later = await service.post(path, everything, { prefer: "respond-async" });
    assert.equal(later.status, 202);
    assert.equal((await later.json()).bytes_size, 0);
    const rows = await service.post(path, { ...everything, format: "csv" });
    const direct = await service.post(path, { ...everything, format: "csv", delivery: "stream" });
    const file = await fetch((await rows.json()).export_url);
    assert.equal(file.headers.get("content-type"), direct.headers.get("content-type"));
    assert.equal(await file.text(), await direct.text());
  },
);

Deno.test("without a bucket, asking for one is 400 and names the field", async () => {
  await using service = await startTestService();
  const answer = await service.post(path, { ...everything, delivery: "bucket" });
  assert.equal(answer.status, 400);
  assert.match((await answer.json()).error.message, /^delivery: no bucket is configured/);
});

Deno.test("a bucket that takes nothing is a 503, without its secrets, and leaves a failed job", async () => {
  const wrong = { ...bucket.env, EXPORT_BUCKET_URL: "s3://no-such-bucket" };
  await using service = await startTestService({ env: wrong });
  const answer = await service.post(path, everything);
  const text = await answer.text();
  assert.equal(answer.status, 503, text);
  assert.match(text, /could not be written/);
  const { data } = await (await service.fetch(path)).json();
  assert.equal(data[0].state, "failed");
  const stream = await service.fetch(`${path}/${data[0].request_id}/stream`);
  assert.equal(stream.status, 404, await stream.text());
  assert.match(service.log.join("\n"), /an export failed .*bucket/);
  assert.ok(!service.log.join("\n").includes(bucketSecret));
});

Deno.test("while the bucket is away, reading is a 503, and a deletion doesn't say that the file is gone", async () => {
  const away = await startBucket();
  await using service = await startTestService({ env: away.env });
  const answer = await service.post(path, everything);
  assert.equal(answer.status, 200, await answer.text());
  const { data } = await (await service.fetch(path)).json();
  const job = `${path}/${data[0].request_id}`;
  await away[Symbol.asyncDispose]();
  const stream = await service.fetch(`${job}/stream`);
  assert.equal(stream.status, 503);
  assert.equal((await stream.json()).error.code, "store_unavailable");
  const removed = await service.fetch(job, { method: "DELETE" });
  assert.equal(removed.status, 200);
  assert.match(
    (await removed.json()).message,
    /^The export is gone. Its file can't be removed now/,
  );
  assert.match(service.log.join("\n"), /could not be deleted .*the bucket did not remove the file/);
  assert.doesNotMatch(service.log.join("\n"), / error /);
});
