import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { sha256Hex } from "../../src/base/hash.ts";
import { generateImage, imagesOf } from "../support/media_calls.ts";
import { type Row, shared, startSimulatedService } from "../support/service.ts";
import { untilStored } from "../support/until_admitted.ts";

const service = shared(() => startSimulatedService());
const image = { provider: "vendor-b", prompt: "A boat" };

async function contentOf(
  url: string,
): Promise<{ status: number; bytes: Uint8Array; type: string }> {
  const answer = await untilStored(() => fetch(url));
  const type = answer.headers.get("content-type") ?? "";
  return { status: answer.status, bytes: await answer.bytes(), type };
}

Deno.test("an address works without a key, whatever the picture's size and the vendor", async () => {
  for (const provider of ["vendor-a", "vendor-b", "vendor-d", "vendor-f", "vendor-g"]) {
    const answer = await generateImage(service(), {
      provider,
      prompt: "A boat",
      response_format: "url",
    });
    const [made] = imagesOf(answer);
    assert.equal(made!.b64_json, undefined);
    const { status, bytes, type } = await contentOf(made!.url!);
    assert.equal(status, 200, provider);
    assert.equal(type, made!.mime_type);
    assert(made!.url!.includes(sha256Hex(bytes)));
    const row = await service().row(answer.transaction);
    const named = (row.response as { data: { url: Record<string, unknown> }[] }).data[0]!.url;
    assert.equal(named.sha256, sha256Hex(bytes));
    assert.equal(named.bytes, bytes.length);
  }
});

Deno.test("an address holds for an hour, and not after nor for another file", async () => {
  const [made] = imagesOf(await generateImage(service(), { ...image, response_format: "url" }));
  const url = new URL(made!.url!);
  const expires = Number(url.searchParams.get("expires"));
  const now = Date.now() / 1000;
  assert(Math.abs(expires - now - 3600) < 30, `${expires - now} s`);
  const changed = (change: (url: URL) => void) => {
    const other = new URL(url);
    change(other);
    return contentOf(other.href);
  };
  assert.equal((await contentOf(url.href)).status, 200);
  const past = await changed((one) => one.searchParams.set("expires", String(Math.floor(now) - 1)));
  assert.equal(past.status, 404);
  const later = await changed((one) => one.searchParams.set("expires", String(expires + 1)));
  assert.equal(later.status, 404);
  const other = await changed((one) => one.pathname = `/api/v1/media/${"0".repeat(64)}`);
  assert.equal(other.status, 404);
});

Deno.test("a large picture is stored once for all that name it, and goes with the last of them", async () => {
  const prompt = "A very large boat [bytes:300000]";
  const answers = [
    await generateImage(service(), { ...image, prompt }),
    await generateImage(service(), { ...image, prompt }),
  ];
  const file = Buffer.from(imagesOf(answers[0]!)[0]!.b64_json!, "base64");
  const rows: Row[] = [];
  for (const { transaction } of answers) rows.push(await service().row(transaction));
  const named = rows.map((row) =>
    (row.response as { data: { b64_json: Record<string, unknown> }[] }).data[0]!.b64_json
  );
  for (const one of named) {
    assert.deepEqual(one, {
      sha256: sha256Hex(file),
      bytes: file.length,
      mime_type: "image/png",
      url: `/api/v1/media/${sha256Hex(file)}`,
    });
  }
  const read = () => service().fetch(String(named[0]!.url));
  const erase = async (transaction: string | null) => {
    const answer = await service().fetch("/api/v1/data", {
      method: "DELETE",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ transaction_ids: [transaction], confirm: true }),
    });
    assert.equal(answer.status, 200, await answer.text());
  };
  await erase(answers[0]!.transaction);
  assert.deepEqual(await (await read()).bytes(), new Uint8Array(file));
  await erase(answers[1]!.transaction);
  const gone = await read();
  assert.equal(gone.status, 404);
  await gone.body?.cancel();
});

Deno.test("a repeat with the same id is answered from the record and charged once", async () => {
  const cases = [
    ["/imagen/v1/generate", { ...image, prompt: "Repeated" }, {}],
    ["/imagen/v1/generate", { ...image, prompt: "Repeated", stream: true }, {}],
    ["/tts/v1/generate", { provider: "vendor-d", input: "Repeated" }, {}],
    ["/tts/v1/generate", { provider: "vendor-b", input: "Repeated", stream: true }, {}],
    ["/tts/v1/generate", { provider: "vendor-g", input: "Repeated" }, { accept: "audio/mpeg" }],
  ] as const;
  for (const [path, body, headers] of cases) {
    const id = crypto.randomUUID();
    const send = async () => {
      const answer = await service().post(path, body, { ...headers, "x-request-id": id });
      return { answer, bytes: await answer.bytes() };
    };
    const [first, second] = [await send(), await send()];
    assert.equal(second.answer.headers.get("x-idempotent-replay"), "true");
    assert.deepEqual(second.bytes, first.bytes);
    assert.equal(
      second.answer.headers.get("content-type"),
      first.answer.headers.get("content-type"),
    );
    assert.equal((await service().rows({ request_id: id })).length, 1);
    const other = await service().post(path, { ...body, user: "another" }, { "x-request-id": id });
    assert.equal(other.status, 409);
    await other.body?.cancel();
  }
});

Deno.test("credit covers all calls of a request or none is made", async () => {
  const account = await service().admin("account", "create", "--name", "poor");
  assert.equal(account.exitCode, 0, account.lines.join());
  const { key } = await service().createKey("--account", "poor");
  await service().admin("credits", "grant", "--usd", "0.1", "--account", "poor");
  const headers = { authorization: `Bearer ${key}` };
  const imagen = { provider: "vendor-d", model: "imagen-4.0-generate-001", prompt: "Boats" };
  const before = service().simulators.requests("vendor-d").length;
  const refused = await generateImage(service(), { ...imagen, n: 3 }, headers);
  assert.deepEqual([refused.status, refused.body.error?.code], [402, "insufficient_credits"]);
  assert.equal(service().simulators.requests("vendor-d").length, before);
  const allowed = await generateImage(service(), { ...imagen, n: 2 }, headers);
  assert.equal(allowed.body.cost_usd, "0.080000000");
});

Deno.test("a vendor key of the caller's own draws without charge", async () => {
  const { apiKey } = service().simulators.vendors["vendor-b"];
  const answer = await generateImage(service(), image, {
    authorization: `Bearer ${service().key};${apiKey}`,
  });
  const row = await service().row(answer.transaction);
  assert.equal(row.mode, "dual_key");
  assert.equal(row.charged_usd, "0.000000000");
  assert.equal(row.cost_usd, answer.body.cost_usd);
});

const tagLines = "/// APP shop\n/// COHORT c-1\n";

Deno.test("the end user, tags and provider options of a picture are recorded and sent", async () => {
  const answer = await generateImage(service(), {
    ...image,
    prompt: `${tagLines}A boat`,
    user: "user-42",
    provider_options: { openai: { moderation: "low" }, "vendor-d": { labels: {} } },
  });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const sent = service().simulators.requests("vendor-b").at(-1)!.body as Record<string, unknown>;
  assert.deepEqual([sent.user, sent.moderation, sent.prompt], ["user-42", "low", "A boat"]);
  assert(!("labels" in sent));
  const row = await service().row(answer.transaction);
  assert.deepEqual([row.user_id, row.app, row.cohort_id], ["user-42", "shop", "c-1"]);
  assert.equal((row.request as { prompt: string }).prompt, `${tagLines}A boat`);
  assert.equal(row.endpoint, "/imagen/v1/generate");
});

Deno.test("tag lines are recorded and not spoken, under both names of the text", async () => {
  for (const name of ["input", "text"]) {
    const body = { provider: "vendor-b", [name]: `${tagLines}Hello` };
    const answer = await service().post("/tts/v1/generate", body);
    assert.equal(answer.status, 200, await answer.text());
    assert.equal(answer.headers.get("x-audio-characters"), "5");
    const sent = service().simulators.requests("vendor-b").at(-1)!.body as Record<string, unknown>;
    assert.equal(sent.input, "Hello");
    const row = await service().row(answer.headers.get("x-transaction-id"));
    assert.deepEqual([row.app, row.cohort_id], ["shop", "c-1"]);
    assert.equal((row.request as Record<string, unknown>)[name], `${tagLines}Hello`);
  }
});
