import assert from "@std/assert";
import { Secret } from "../../src/base/secret.ts";
import { createExportBucket } from "../../src/exports/store/export_bucket.ts";
import { startBucket, type TestBucket } from "../support/bucket.ts";
import { startFakeVendor } from "../support/fake_vendor.ts";
import { collect } from "./samples.ts";

const bucketOf = ({ env }: Pick<TestBucket, "env">, waitMs?: number) =>
  createExportBucket({
    bucket: "exports",
    prefix: "team",
    endpoint: env.S3_ENDPOINT,
    region: env.AWS_REGION!,
    accessKeyId: new Secret(env.AWS_ACCESS_KEY_ID!),
    secretAccessKey: new Secret(env.AWS_SECRET_ACCESS_KEY!),
  }, () =>
    new Date(), waitMs);

const file = { requestId: "0199-a", claim: 2, format: "csv" } as const;

async function* pieces(count: number, failure?: Error) {
  for (let n = 0; n < count; n++) yield await Promise.resolve(new Uint8Array(1024 * 1024).fill(n));
  if (failure) throw failure;
}

Deno.test("an upload whose source fails is aborted: its parts are removed, and there is no file", async () => {
  await using store = await startBucket();
  const failing = bucketOf(store).save(file, pieces(50, new Error("the source ended")));
  await assert.rejects(failing, /^Error: the source ended$/);
  const ended = store.requests.filter((one) => /^DELETE .*uploadId=/.test(one));
  assert.equal(ended.length, 1, store.requests.join("\n"));
  assert.deepEqual(await store.keys(), []);
});

Deno.test("any part is read, an address is good for as long as it says, removal is repeatable", async () => {
  await using store = await startBucket();
  const bucket = bucketOf(store);
  assert.equal(await bucket.save({ ...file, claim: 1 }, pieces(1)), 1024 * 1024);
  assert.equal(await bucket.save(file, pieces(22)), 22 * 1024 * 1024);
  const part = await collect(bucket.read(file, 5 * 1024 * 1024 - 1, 5 * 1024 * 1024 + 1));
  assert.deepEqual(part.flatMap((piece) => [...piece]), [4, 5]);
  assert.deepEqual(await collect(bucket.read(file, 3, 3)), []);
  const soon = new URL(await bucket.address(file, new Date(Date.now() + 60_500)));
  assert.equal(soon.searchParams.get("X-Amz-Expires"), "60");
  const late = new URL(await bucket.address(file, new Date(Date.now() + 30 * 86_400_000)));
  assert.equal(late.searchParams.get("X-Amz-Expires"), String(7 * 86_400));
  assert.deepEqual(await store.keys(), ["team/0199-a/1.csv", "team/0199-a/2.csv"]);
  await bucket.remove(file, "this");
  await assert.rejects(collect(bucket.read(file, 0, 1)), { code: "export_not_found" });
  assert.deepEqual(await store.keys(), ["team/0199-a/1.csv"]);
  await bucket.remove(file, "all");
  await bucket.remove(file, "all");
  assert.deepEqual(await store.keys(), []);
});

/** A store that lists uploads, which s3rver can't; `list` answers for a key. */
function startListingStore(list: (key: string) => Response) {
  const aborted: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const url = new URL(request.url);
    if (url.searchParams.has("uploads")) return list(url.searchParams.get("prefix")!);
    const upload = url.searchParams.get("uploadId");
    if (upload !== null) aborted.push(`${request.method} ${url.pathname} ${upload}`);
    return new Response(null, { status: 204 });
  });
  const env = {
    ...{ S3_ENDPOINT: `http://127.0.0.1:${server.addr.port}`, AWS_REGION: "eu-central-1" },
    ...{ AWS_ACCESS_KEY_ID: "S3", AWS_SECRET_ACCESS_KEY: "c4nary" },
  };
  return { env, aborted, [Symbol.asyncDispose]: () => server.shutdown() };
}

Deno.test("a removal aborts the uploads that a killed process left, of this file alone", async () => {
  const upload = (key: string, id: string) =>
    `<Upload><Key>${key}</Key><UploadId>${id}</UploadId></Upload>`;
  await using store = startListingStore((key) => {
    const uploads = upload(key, "one") + upload(key, "two") + upload(`${key}.other`, "three");
    return new Response(`<ListMultipartUploadsResult>${uploads}</ListMultipartUploadsResult>`);
  });
  await bucketOf(store).remove(file, "this");
  const path = "DELETE /exports/team/0199-a";
  assert.deepEqual(store.aborted, [`${path}/2.csv one`, `${path}/2.csv two`]);
  store.aborted.length = 0;
  await bucketOf(store).remove(file, "all");
  const both = ["1.csv one", "1.csv two", "2.csv one", "2.csv two"];
  assert.deepEqual(store.aborted, both.map((one) => `${path}/${one}`));
});

Deno.test("a store that doesn't list uploads fails no removal", async () => {
  await using store = startListingStore(() => new Response(null, { status: 403 }));
  await bucketOf(store).remove(file, "all");
});

Deno.test("a bucket that can't be reached fails in its own words, without secrets", async () => {
  const store = await startBucket();
  const bucket = bucketOf(store);
  await store[Symbol.asyncDispose]();
  for (const act of [() => bucket.save(file, pieces(1)), () => bucket.remove(file, "all")]) {
    await assert.rejects(act(), (thrown: unknown) => !String(thrown).includes("c4nary"));
  }
});

Deno.test("a bucket that is full says so, whatever the upload does to its source", async () => {
  const full = "<Error><Code>InsufficientStorage</Code><Message>no room</Message></Error>";
  await using store = await startFakeVendor((exchange) =>
    exchange.answer(507, full, { "content-type": "application/xml" })
  );
  const bucket = bucketOf(storeAt(store.url));
  const reason = (what: string) =>
    new RegExp(`^Error: the bucket did not ${what} the file: no room$`);
  await assert.rejects(bucket.save(file, pieces(50)), reason("take"));
  await assert.rejects(bucket.remove(file, "this"), reason("remove"));
  const unread = { code: "store_unavailable", note: "the bucket did not give the file: no room" };
  await assert.rejects(collect(bucket.read(file, 0, 1)), unread);
});

Deno.test("a store that falls silent within a file, or before it, fails the reading", async () => {
  for (const begins of [true, false]) {
    await using store = await startFakeVendor(async (exchange) => {
      if (!begins) return;
      await exchange.head(206, {}, { length: 1000 });
      await exchange.write("hello");
    });
    const bucket = bucketOf(storeAt(store.url), 300);
    const reason = begins
      ? /did not give all of the file: it was silent/
      : { code: "store_unavailable" };
    await assert.rejects(collect(bucket.read(file, 0, 1000)), reason, `begins: ${begins}`);
  }
});

Deno.test("a store that breaks off within a file is named", async () => {
  await using store = await startFakeVendor(async (exchange) => {
    await exchange.head(206, {}, { length: 1000 });
    await exchange.write("hello");
    exchange.cut();
  });
  const reading = collect(bucketOf(storeAt(store.url)).read(file, 0, 1000));
  await assert.rejects(reading, /^Error: the bucket did not give all of the file: ./);
});

Deno.test("a caller that takes its time gets the whole file", async () => {
  const length = 16 * 1024 * 1024;
  await using store = await startFakeVendor(async (exchange) => {
    await exchange.head(206, {}, { length });
    await exchange.write(new Uint8Array(length));
  });
  const pieces = bucketOf(storeAt(store.url), 2_000).read(file, 0, length);
  let read = 0;
  for await (const piece of pieces) {
    if (read === 0) await new Promise((resolve) => setTimeout(resolve, 2_500));
    read += piece.length;
  }
  assert.equal(read, length);
});

function storeAt(url: string): Pick<TestBucket, "env"> {
  const env = { AWS_REGION: "eu", AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "secret" };
  return { env: { ...env, S3_ENDPOINT: url } };
}
