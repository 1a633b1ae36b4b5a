/** Slow uploads of some tenants never hold the requests of others (security review, finding 4). */
import assert from "@std/assert";
import { shared, startSimulatedService, type TestService } from "../support/service.ts";
import { isQuietMachine } from "../support/quiet.ts";
import { within } from "../support/within.ts";

const service = shared(() => startSimulatedService());
const mib = 1024 * 1024;

/** How an upload is announced, and how much of it comes before it stalls. */
const stalled = [
  { path: "/chat/v1/chat/completions", announced: 12_000_000, sent: 1 },
  { path: "/chat/v1/chat/completions", announced: 12_000_000, sent: 3 * mib },
  { path: "/chat/v1/chat/completions", announced: undefined, sent: 3 * mib },
  { path: "/vendor-c/v1/messages", announced: 250_000, sent: 200_000 },
  { path: "/vendor-b/v1/images/edits", announced: 12_000_000, sent: 1 },
  { path: "/vendor-b/v1/images/edits", announced: undefined, sent: 3 * mib },
];

async function stall(baseUrl: string, key: string, one: (typeof stalled)[number]) {
  const { hostname, port } = new URL(baseUrl);
  const connection = await Deno.connect({ hostname, port: Number(port) });
  const length = one.announced === undefined
    ? "transfer-encoding: chunked"
    : `content-length: ${one.announced}`;
  const type = one.path.endsWith("edits")
    ? "multipart/form-data; boundary=xyz"
    : "application/json";
  const head = `POST ${one.path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: ${type}\r\n${length}\r\n\r\n`;
  const text = "a".repeat(one.sent);
  const body = one.announced === undefined ? `${one.sent.toString(16)}\r\n${text}` : text;
  const writer = connection.writable.getWriter();
  // What the service leaves unread stays with us.
  void writer.write(new TextEncoder().encode(head + body)).catch(() => {});
  return () => connection.close();
}

async function tenant(service: TestService, name: string): Promise<string> {
  const made = await service.admin("account", "create", "--name", name);
  assert.equal(made.exitCode, 0);
  return (await service.createKey("--account", name)).key;
}

async function ask(path: string, init: RequestInit, ms: number): Promise<number> {
  const began = performance.now();
  const answer = await within(ms, service().fetch(path, { method: "POST", ...init }));
  const text = await answer.text();
  assert.equal(answer.status, 200, text.slice(0, 500));
  return performance.now() - began;
}

/** On a busy machine still less than the half minute after which stalled uploads are ended. */
const longestUploadMs = () => isQuietMachine() ? 5_000 : 20_000;

function chat(bytes: number, ms = longestUploadMs()): Promise<number> {
  return ask("/chat/v1/chat/completions", {
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "vendor-b/gpt-4.1",
      max_tokens: 10,
      messages: [{ role: "user", content: "a word ".repeat(bytes / 7) }],
    }),
  }, ms);
}

function edit(bytes: number, ms = longestUploadMs()): Promise<number> {
  const form = new FormData();
  form.set("model", "gpt-image-2");
  form.set("prompt", "Paint it green.");
  const png = new Uint8Array(bytes);
  png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  form.set("image", new File([png], "given.png", { type: "image/png" }));
  return ask("/vendor-b/v1/images/edits", { body: form }, ms);
}

Deno.test("while uploads of eight tenants stand still, another's large requests are answered within 5 s", async () => {
  const close: (() => void)[] = [];
  try {
    for (let account = 1; account <= 8; account++) {
      const key = await tenant(service(), `slow-${account}`);
      for (const one of stalled) close.push(await stall(service().baseUrl, key, one));
    }
    // Until they have taken what they can.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    for (const bytes of [350_000, mib]) {
      await chat(bytes);
      await edit(bytes);
    }
    await Promise.all([chat(mib), chat(350_000), edit(mib)]);
  } finally {
    for (const one of close) one();
  }
});

Deno.test("a tenant's own larger requests get past its slow uploads", async () => {
  const close: (() => void)[] = [];
  try {
    for (const one of stalled) {
      close.push(await stall(service().baseUrl, service().key, one));
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await chat(mib, 60_000);
    await edit(350_000, 60_000);
  } finally {
    for (const one of close) one();
  }
});
