/** Bodies that break off are their callers' affair: no error in the log, and no 5xx is counted. */
import assert from "@std/assert";
import { Buffer } from "node:buffer";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { dial, pause } from "../support/raw_connection.ts";
import { shared, startTestService } from "../support/service.ts";

const service = shared(() => startTestService());

const bodies = {
  "a chunk without a size": "transfer-encoding: chunked\r\n\r\nZ\r\n\r\n",
  "half of its length": "content-length: 100000\r\n\r\n{",
  "nothing of its length": "content-length: 100000\r\n\r\n",
};

/** Sends heads and the beginnings of their bodies, and leaves. */
async function leave(path: string, headers: string, body: string): Promise<void> {
  using connection = await dial(Number(new URL(service().baseUrl).port));
  await connection.send(`POST ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${headers}${body}`);
  if (body.includes("Z")) await connection.rest();
}

async function failures(requests: number, route: string): Promise<string[]> {
  const lines = () => service().log.filter((line) => line.includes(`route=${route} `));
  for (let waits = 0; lines().length < requests; waits++) {
    assert.ok(waits < 1_000, `${lines().length} of ${requests} requests are in the log`);
    await pause(20);
  }
  return service().log.filter((line) => / error | status=5/.test(line));
}

Deno.test("a form that breaks off is no failure of the dashboard", async () => {
  const headers = "content-type: application/x-www-form-urlencoded\r\n";
  for (const body of Object.values(bodies)) {
    await leave("/dashboard/sign-in/link", headers, body);
  }
  assert.deepEqual(await failures(Object.keys(bodies).length, "/dashboard"), []);
});

const endpoints = {
  "/api/v1/exports": "application/json",
  "/chat/v1/chat/completions": "application/json",
  "/vendor-b/v1/audio/transcriptions": "multipart/form-data; boundary=x",
};

for (const [path, type] of Object.entries(endpoints)) {
  Deno.test(`a body that breaks off before its key is known is no failure of the service: ${path}`, async () => {
    const rounds = 5;
    for (let round = 0; round < rounds; round++) {
      for (const body of Object.values(bodies)) {
        // Nobody has used the key yet, so it has to be looked up while the caller leaves.
        const { key } = await service().createKey();
        const headers = `authorization: Bearer ${key}\r\ncontent-type: ${type}\r\n`;
        await leave(path, headers, body);
      }
    }
    assert.deepEqual(await failures(rounds * Object.keys(bodies).length, path), []);
  });
}

Deno.test("a compressed body is refused by its header's name, and one that is only labelled is read", async () => {
  const { key } = await service().createKey();
  const form = new TextEncoder().encode(
    '--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--x--\r\n',
  );
  const json = new TextEncoder().encode("{}");
  const compress = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync };
  for (const [path, type] of Object.entries(endpoints)) {
    const plain = type === "application/json" ? json : form;
    const post = async (coding: string, body: Uint8Array<ArrayBuffer>) => {
      const headers = {
        "authorization": `Bearer ${key}`,
        "content-type": type,
        "content-encoding": coding,
      };
      const answer = await fetch(service().baseUrl + path, { method: "POST", headers, body });
      const { error } = await answer.json();
      return { status: answer.status, message: error.message as string };
    };
    for (const [coding, act] of Object.entries(compress)) {
      const packed = new Uint8Array(act(Buffer.concat([plain, plain])));
      // What happens to be text is read as such.
      if (isText(packed) && plain === json) continue;
      const told = await post(coding, packed);
      const message = "Content-Encoding: expected a body that isn't compressed.";
      assert.deepEqual(told, { status: 400, message }, `${coding} to ${path}`);
    }
    for (const coding of ["gzip", "identity"]) {
      assert.doesNotMatch((await post(coding, plain)).message, /Content-Encoding/);
    }
  }
});

function isText(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
