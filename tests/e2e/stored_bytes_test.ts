/** What is left on the disk of calls that cost their callers nothing (security.md 7). */
import assert from "@std/assert";
import { randomBytes } from "node:crypto";
import { Secret } from "../../src/base/secret.ts";
import { openDatabase } from "../../src/database/open.ts";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { createMigrated, kindsOfThisRun } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { scriptedModel, wholeAnswer } from "../support/service_scripted.ts";

const { available, reason } = postgresAvailability();
/** A call with a large picture, one with a small one that stays in its payload, one with words. */
const sentBytes = [3_000_000, 90_000, 0];
const wordsOf = (bytes: number) => bytes === 0 ? "words ".repeat(150_000) : "What is this?";
const times = 3;

for (const kind of kindsOfThisRun()) {
  const runs = kind === "embedded" || available;
  const named = `(${kind}${runs ? "" : `; skipped: ${reason}`})`;
  Deno.test({
    name: `calls that a vendor refused leave less than half of what they sent ${named}`,
    ignore: !runs,
    fn: () =>
      withService(kind, {}, async (service, stored) => {
        const before = await stored();
        let sent = 0;
        for (const status of [401, 403]) {
          for (let at = 0; at < times; at++) sent += await sendAll(service, status);
        }
        const rows = await service.rows();
        assert.equal(rows.length, 2 * times * sentBytes.length);
        for (const row of rows) {
          assert.deepEqual([row.status, row.payload_truncated], [
            "failed",
            true,
          ]);
        }
        const after = await stored();
        assert.equal(after.media, 0);
        const left = after.bytes - before.bytes;
        assert.ok(left < sent / 2, `${left} bytes are left of ${sent}`);
      }),
  });
  Deno.test({
    name:
      `beyond an account's bytes of a day every row and charge is there, without media ${named}`,
    ignore: !runs,
    fn: () =>
      withService(kind, { STORED_BYTES_PER_DAY: "5000000" }, async (service, stored) => {
        for (let at = 0; at < times; at++) await sendAll(service, 200);
        const rows = await service.rows();
        assert.equal(rows.length, times * sentBytes.length);
        for (const row of rows) {
          assert.deepEqual([row.status, row.charged_usd], ["completed", "0.000060000"]);
        }
        const metrics = await (await service.fetch("/metrics")).text();
        assert.match(metrics, /^gateway_payloads_cut_total [1-9]/m);
        const { media } = await stored();
        assert.ok(media > 0 && media < 5_000_000, `${media} bytes of media`);
        const said = service.log.filter((line) => /reached its daily storage limit/.test(line));
        assert.equal(said.length, 1);
      }),
  });
}

async function withService(
  kind: "embedded" | "postgres",
  more: Record<string, string>,
  test: (
    service: TestService,
    stored: () => Promise<{ bytes: number; media: number }>,
  ) => Promise<void>,
): Promise<void> {
  const dataDir = temporaryDirectory("stored");
  const database = kind === "postgres" ? await createMigrated() : undefined;
  const vendor = await startFakeVendor(({ request, answer }) => {
    const status = Number(/"x_status":(\d+)/.exec(request.body)?.[1] ?? 200);
    const error = { error: { message: "No.", type: "invalid_request_error" } };
    return answer(status, status === 200 ? wholeAnswer : error);
  });
  const env = {
    DATA_DIR: dataDir,
    VENDOR_B_BASE_URL: `${vendor.url}/v1`,
    VENDOR_B_API_KEY: "sk-of-vendor-b-0123456789",
    ...(database ? { DATABASE_URL: database.url } : {}),
    ...more,
  };
  const first = await startTestService({ env });
  let running: Promise<TestService> | undefined = Promise.resolve(first);
  const stop = async () => await (await running)?.stop();
  const service = () => running ??= startTestService({ env });
  /** With the service stopped for it, so that all is calm; who asks it next starts it again. */
  const stored = async () => {
    await stop();
    running = undefined;
    const url = database && new Secret(database.url);
    const opened = await openDatabase(url, dataDir);
    const [row] = await opened.query(
      `select coalesce((select sum(bytes) from media), 0)::bigint as media,
         pg_database_size(current_database())::bigint as bytes`,
    );
    await opened.close();
    const inFiles = database ? Number(row!.bytes) + sizeOf(dataDir) : sizeOf(dataDir);
    return { media: Number(row!.media), bytes: inFiles };
  };
  try {
    await test({ ...first, ...forwarded(service, first.key) }, stored);
  } finally {
    await stop();
    await vendor.close();
    await database?.drop();
  }
}

/** What the service of the moment answers, to the key of the first. */
function forwarded(service: () => Promise<TestService>, key: string): Partial<TestService> {
  const authorization = `Bearer ${key}`;
  return {
    rows: async (filters = {}) => await (await service()).rows(filters, key),
    post: async (path, body, headers = {}) =>
      await (await service()).post(path, body, { authorization, ...headers }),
    fetch: async (path, init) => await (await service()).fetch(path, init),
    key,
  };
}

/** One call of each size; gives the bytes that were sent. */
async function sendAll(service: TestService, status: number): Promise<number> {
  let sent = 0;
  for (const bytes of sentBytes) {
    // Noise, which nothing makes smaller.
    const picture = randomBytes(bytes);
    const url = `data:image/png;base64,${picture.toString("base64")}`;
    const content = [
      { type: "text", text: wordsOf(bytes) },
      ...(bytes > 0 ? [{ type: "image_url", image_url: { url } }] : []),
    ];
    const body = JSON.stringify({
      model: scriptedModel,
      messages: [{ role: "user", content }],
      x_status: status,
    });
    const key = status === 200 ? {} : { authorization: `Bearer ${service.key};sk-made-up` };
    const answer = await service.post("/vendor-b/v1/chat/completions", body, key);
    await answer.body?.cancel();
    assert.equal(answer.status, status);
    sent += body.length;
  }
  return sent;
}

function sizeOf(directory: string): number {
  let bytes = 0;
  for (const { name, isDirectory } of Deno.readDirSync(directory)) {
    const path = `${directory}/${name}`;
    bytes += isDirectory ? sizeOf(path) : Deno.statSync(path).size;
  }
  return bytes;
}
