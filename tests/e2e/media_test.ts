import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { sha256Hex } from "../../src/base/hash.ts";
import { Secret } from "../../src/base/secret.ts";
import { MasterKey } from "../../src/keys/sealing.ts";
import { createMediaSigner } from "../../src/records/signed_media.ts";
import { securityHeaders } from "../support/scenarios.ts";
import { type Row, shared, startSimulatedService } from "../support/service.ts";

const service = shared(async () => {
  const started = await startSimulatedService({ PAYLOAD_MAX_BYTES: "20000" });
  const account = await started.admin("account", "create", "--name", "others");
  assert.equal(account.exitCode, 0, account.lines.join());
  const other = await started.createKey("--account", "others");
  const narrow = await started.createKey("--scope", "status");
  return { ...started, rows: started.rows, row: started.row, other, narrow };
});

const picture = Buffer.concat([
  Buffer.from("89504e470d0a1a0a", "hex"),
  Buffer.alloc(3 * 1024 * 1024, 7),
]);

interface Named {
  sha256: string;
  bytes: number;
  mime_type: string;
  url: string;
}

/** A call with media in its prompt, and its row. */
async function call(
  content: Buffer,
  type: string,
  status = 200,
): Promise<{ row: Row; named: Named }> {
  const url = `data:${type};base64,${content.toString("base64")}`;
  const answer = await service().post("/chat/v1/chat/completions", {
    model: "vendor-b/gpt-4.1",
    messages: [{
      role: "user",
      content: [{ type: "text", text: "What is it?" }, { type: "image_url", image_url: { url } }],
    }],
  });
  assert.equal(answer.status, status, await answer.text());
  const row = await service().row(answer.headers.get("x-transaction-id"));
  const request = row.request as { messages: { content: { image_url: { url: Named } }[] }[] };
  return { row, named: request.messages[0]!.content[1]!.image_url.url };
}

Deno.test("a large picture is named in the stored payload, and read by any key of the account", async () => {
  const { row, named } = await call(picture, "image/png");
  assert.deepEqual(named, {
    sha256: sha256Hex(picture),
    bytes: picture.length,
    mime_type: "image/png",
    url: `/api/v1/media/${sha256Hex(picture)}`,
  });
  assert.equal(row.payload_truncated, false, "the limit counts what is left");
  const read = await service().fetch(named.url, {
    headers: { authorization: `Bearer ${service().narrow.key}` },
  });
  assert.equal(read.status, 200);
  assert.equal(read.headers.get("content-type"), "image/png");
  assert.equal(read.headers.get("content-length"), String(picture.length));
  assert.equal(
    read.headers.get("content-disposition"),
    `inline; filename="${named.sha256}"`,
  );
  for (const [name, value] of Object.entries(securityHeaders)) {
    assert.equal(read.headers.get(name), value, name);
  }
  assert.equal(sha256Hex(new Uint8Array(await read.arrayBuffer())), named.sha256);
});

Deno.test("media is no one else's, and unknown media is a 404 of the service", async () => {
  const { named } = await call(picture, "image/png");
  const theirs = { authorization: `Bearer ${service().other.key}` };
  for (
    const [path, init] of [
      [named.url, { headers: theirs }],
      [`/api/v1/media/${"0".repeat(64)}`, {}],
      ["/api/v1/media/nonsense", {}],
      [`/api/v1/media/${named.sha256.toUpperCase()}`, {}],
    ] as const
  ) {
    const answer = await service().fetch(path, init);
    assert.equal(answer.status, 404, path);
    assert.equal((await answer.json()).error.code, "media_not_found");
  }
  const nobody = await fetch(service().baseUrl + named.url);
  assert.equal(nobody.status, 401);
  await nobody.body?.cancel();
});

Deno.test("a signature that is not ours is a 404 without a key", async () => {
  const { named } = await call(picture, "image/png");
  const expires = Math.floor(Date.now() / 1000) + 600;
  for (const query of ["signature=x", `expires=${expires}&signature=1.${"A".repeat(43)}`]) {
    const answer = await fetch(`${service().baseUrl}${named.url}?${query}`);
    assert.equal(answer.status, 404);
    assert.equal((await answer.json()).error.code, "media_not_found");
  }
  const withKey = await service().fetch(`${named.url}?signature=x`);
  assert.equal(withKey.status, 200, "a key counts for itself");
  await withKey.body?.cancel();
});

Deno.test("a signed address of ours is read without a key, as its account names it", async () => {
  const { row, named } = await call(picture, "image/png");
  const text = await Deno.readTextFile(`${service().dataDir}/master.key`);
  const key = new MasterKey(new Secret(text.trim()));
  const mac = (text: string) => key.signAddress(text);
  const signer = createMediaSigner({ mac, now: () => new Date() });
  const read = await fetch(
    service().baseUrl + signer.sign(Number(row.account_id), named.sha256),
  );
  assert.equal(read.status, 200);
  assert.equal(sha256Hex(new Uint8Array(await read.arrayBuffer())), named.sha256);
  const past = createMediaSigner({ mac, now: () => new Date(Date.now() - 3_700_000) });
  const strange = [
    signer.sign(service().other.account_id, named.sha256),
    past.sign(Number(row.account_id), named.sha256),
  ];
  for (const address of strange) {
    const refused = await fetch(service().baseUrl + address);
    assert.equal(refused.status, 404);
    await refused.body?.cancel();
  }
});

Deno.test("a type that a browser would run is sent as an attachment", async () => {
  const page = Buffer.from("<script>alert(1)</script>".padEnd(100_000, " "));
  const inlineData = { mimeType: "text/html", data: page.toString("base64") };
  const answer = await service().post("/vendor-d/v1beta/models/gemini-2.5-flash:generateContent", {
    contents: [{ role: "user", parts: [{ text: "What is it?" }, { inlineData }] }],
  });
  assert.equal(answer.status, 200, await answer.text());
  await service().row(answer.headers.get("x-transaction-id"));
  const read = await service().fetch(`/api/v1/media/${sha256Hex(page)}`);
  assert.equal(read.headers.get("content-type"), "text/html");
  assert.match(read.headers.get("content-disposition") ?? "", /^attachment;/);
  assert.equal(read.headers.get("x-content-type-options"), "nosniff");
  await read.body?.cancel();
});

Deno.test("media of a call that the vendor refused is named, and not kept", async () => {
  const { named } = await call(Buffer.alloc(100_000, 32), "text/html", 400);
  assert.equal(named.bytes, 100_000);
  const read = await service().fetch(named.url);
  assert.equal(read.status, 404);
  await read.body?.cancel();
});

Deno.test("small media stays in the payload", async () => {
  const small = picture.subarray(0, 10_000);
  const { named } = await call(small, "image/png");
  assert.equal(named as unknown, `data:image/png;base64,${small.toString("base64")}`);
});
