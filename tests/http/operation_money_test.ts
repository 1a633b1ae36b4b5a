/** Pictures, speech, transcripts and vectors on the vendors' own paths: charged once, or not at all. */
import assert from "@std/assert";
import { Buffer } from "node:buffer";
import type { Simulators } from "../../demo/simulators.ts";
import { picture, sound } from "../../demo/simulator/samples/mod.ts";
import { eachService } from "../support/each_service.ts";
import { type Row, shared, startSimulatedService, type TestService } from "../support/service.ts";

type Service = TestService & { simulators: Simulators };

const common = shared(() => startSimulatedService());

interface Call {
  name: string;
  path: string;
  /** A body of its own each time: a form's boundary differs. */
  body(word: string): BodyInit;
}

const json = (value: unknown) => JSON.stringify(value);

function form(fields: Record<string, string | File>): FormData {
  const made = new FormData();
  for (const [name, value] of Object.entries(fields)) made.append(name, value);
  return made;
}

const png = picture({ format: "png", width: 16, height: 16, subject: "given" });
const spoken = sound("wav", 2, "given");

const calls: readonly Call[] = [
  {
    name: "a picture",
    path: "/vendor-b/v1/images/generations",
    body: (prompt) => json({ model: "gpt-image-2", prompt, quality: "low" }),
  },
  {
    name: "a streamed picture",
    path: "/vendor-b/v1/images/generations",
    body: (prompt) => json({ model: "gpt-image-2", prompt, quality: "low", stream: true }),
  },
  {
    name: "an edited picture",
    path: "/vendor-b/v1/images/edits",
    body: (prompt) =>
      form({
        model: "gpt-image-2",
        prompt,
        quality: "low",
        image: new File([Uint8Array.from(png)], "a.png", { type: "image/png" }),
      }),
  },
  {
    name: "speech",
    path: "/vendor-b/v1/audio/speech",
    body: (input) => json({ model: "tts-1", voice: "alloy", input }),
  },
  {
    name: "speech as events",
    path: "/vendor-b/v1/audio/speech",
    body: (input) =>
      json({ model: "gpt-4o-mini-tts", voice: "alloy", input, stream_format: "sse" }),
  },
  {
    name: "a transcript",
    path: "/vendor-b/v1/audio/transcriptions",
    body: (prompt) =>
      form({
        model: "gpt-4o-transcribe",
        prompt,
        file: new File([Uint8Array.from(spoken)], "a.wav", { type: "audio/wav" }),
      }),
  },
  {
    name: "vectors",
    path: "/chat/v1/embeddings",
    body: (input) => json({ model: "vendor-b/text-embedding-3-small", input }),
  },
  {
    name: "vectors of vendor-d",
    path: "/chat/v1/embeddings",
    body: (input) => json({ model: "vendor-d/gemini-embedding-2", input }),
  },
];

function post(service: TestService, { path, body }: Call, word: string, headers = {}) {
  const sent = body(word);
  const type: Record<string, string> = typeof sent === "string"
    ? { "content-type": "application/json" }
    : {};
  return service.fetch(path, { method: "POST", headers: { ...type, ...headers }, body: sent });
}

async function balance(service: TestService): Promise<number> {
  const { json } = await service.admin("credits", "show");
  return Math.round(Number((json as { balance_usd: string }).balance_usd) * 1e9);
}

const nanos = (usd: unknown) => Math.round(Number(usd) * 1e9);

eachService(
  "the same X-Request-ID is one call and one charge, byte for byte again",
  {},
  async (given) => {
    const service = given as Service;
    for (const call of calls) {
      const id = `again-${call.name.replaceAll(" ", "-")}`;
      const asked = () =>
        (["vendor-b", "vendor-d"] as const)
          .flatMap((label) => service.simulators.requests(label))
          .filter(({ method }) => method === "POST").length;
      const [before, had] = [asked(), await balance(service)];
      const answers = await Promise.all(Array.from({ length: 4 }, async () => {
        const answer = await post(service, call, "A red door. [slow:50]", { "x-request-id": id });
        const bytes = Buffer.from(await answer.arrayBuffer());
        assert.equal(answer.status, 200, `${call.name}: ${bytes.toString("latin1", 0, 300)}`);
        return {
          replay: answer.headers.get("x-idempotent-replay"),
          text: bytes.toString("base64"),
          type: answer.headers.get("content-type"),
        };
      }));
      assert.equal(asked() - before, 1, call.name);
      assert.equal(answers.filter(({ replay }) => replay === "true").length, 3, call.name);
      assert.equal(new Set(answers.map(({ text, type }) => `${type} ${text}`)).size, 1, call.name);
      const rows = await service.rows({ request_id: id });
      assert.equal(rows.length, 1, call.name);
      assert.equal(had - await balance(service), nanos(rows[0]!.charged_usd), call.name);
      assert.ok(nanos(rows[0]!.charged_usd) > 0, call.name);
      const other = await post(service, call, "A blue door.", { "x-request-id": id });
      assert.equal(other.status, 409, call.name);
      assert.equal((await other.json()).error.code, "idempotency_conflict");
    }
  },
);

Deno.test("a call that the vendor refuses costs nothing, and its reason is shown", async () => {
  const service = common();
  const had = await balance(service);
  for (const call of calls) {
    const isPicture = call.path.includes("/images/");
    const answer = await post(service, call, isPicture ? "A door. [refuse]" : "[error:400]");
    const { error } = await answer.json();
    assert.equal(answer.status, 400, call.name);
    if (isPicture) {
      assert.equal(error.code, "content_policy_violation", call.name);
      assert.match(error.message, /rejected by the safety system/);
    }
    const row = await service.row(answer.headers.get("x-transaction-id"));
    assert.deepEqual([row.status, row.http_status, nanos(row.charged_usd)], ["failed", 400, 0]);
  }
  assert.equal(await balance(service), had);
});

Deno.test("credit and caps cover a call before its vendor is asked", async () => {
  const service = common();
  const capped = await service.createKey("--cap-day-usd", "0.000000001");
  assert.equal((await service.admin("account", "create", "--name", "poor")).exitCode, 0);
  const poor = await service.createKey("--account", "poor");
  const before = service.simulators.requests("vendor-b").length;
  for (const call of calls) {
    for (
      const [key, code] of [[capped, "spend_cap_exceeded"], [poor, "insufficient_credits"]] as const
    ) {
      const answer = await post(service, call, "A red door.", {
        authorization: `Bearer ${key.key}`,
      });
      const { error } = await answer.json();
      assert.deepEqual([answer.status, error.code], [402, code], call.name);
    }
  }
  assert.equal(service.simulators.requests("vendor-b").length, before);
});

Deno.test("scopes: a key for chat alone may not draw or speak on a family's paths", async () => {
  const service = common();
  const { key } = await service.createKey("--scope", "chat");
  for (const call of calls.filter(({ path }) => path.startsWith("/vendor-b"))) {
    const answer = await post(service, call, "A red door.", { authorization: `Bearer ${key}` });
    const { error } = await answer.json();
    assert.deepEqual([answer.status, error.code], [403, "permission_denied"], call.name);
  }
});

const speech = (model: string, input: string) =>
  json({ model, voice: "alloy", input, response_format: "pcm" });

/** The row of a call that has just ended, however it ended. */
async function ended(service: TestService, id: string | null): Promise<Row> {
  for (let attempt = 0; attempt < 2_400; attempt++) {
    const [row] = await service.rows({ transaction_id: id });
    if (row) return row;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("no row");
}

eachService(
  "a caller who leaves in mid-audio pays for the text, or for what was heard, once",
  {},
  async (given) => {
    const service = given as Service;
    for (const model of ["tts-1", "gpt-4o-mini-tts"]) {
      const had = await balance(service);
      const input = "Good morning. [long:20] [drip:20]";
      const leaving = new AbortController();
      const answer = await service.fetch("/vendor-b/v1/audio/speech", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: speech(model, input),
        signal: leaving.signal,
      });
      const left = service.simulators.aborted("vendor-b");
      const reader = answer.body!.getReader();
      const { value } = await reader.read();
      leaving.abort();
      const row = await ended(service, answer.headers.get("x-transaction-id"));
      assert.deepEqual([row.status, row.billing_basis], ["cancelled", "estimated"]);
      const charged = nanos(row.charged_usd);
      if (model === "tts-1") assert.equal(charged, input.length * 15_000);
      else {
        // At least what was read, and not the whole 20 seconds.
        const tokens = Number(row.output_tokens);
        assert.ok(tokens >= Math.ceil(value!.length / 48_000 * 1250 / 60), `${tokens} tokens`);
        assert.ok(tokens < 20 * 1250 / 60, `${tokens} tokens`);
      }
      assert.equal(had - await balance(service), charged);
      assert.equal((await service.rows({ request_id: row.request_id })).length, 1);
      for (let wait = 0; wait < 200 && service.simulators.aborted("vendor-b") === left; wait++) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      assert.equal(service.simulators.aborted("vendor-b"), left + 1, "the vendor is left too");
    }
  },
);

Deno.test("audio that breaks off is broken off for the caller, recorded as cut and paid for", async () => {
  const service = common();
  const answer = await service.fetch("/vendor-b/v1/audio/speech", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: speech("tts-1", "Good morning. [long:3] [cut]"),
  });
  assert.equal(answer.status, 200);
  await assert.rejects(answer.arrayBuffer());
  const row = await ended(service, answer.headers.get("x-transaction-id"));
  assert.deepEqual([row.status, row.error_code], ["truncated", "upstream_stream_truncated"]);
  assert.equal(nanos(row.charged_usd), "Good morning. [long:3] [cut]".length * 15_000);
  const events = await service.post("/vendor-b/v1/audio/speech", {
    model: "gpt-4o-mini-tts",
    voice: "alloy",
    input: "Good morning. [long:3] [midstream-error]",
    stream_format: "sse",
  });
  assert.match(await events.text(), /event: error\ndata: \{.*"error".*\}\n\n$/s);
  const failed = await ended(service, events.headers.get("x-transaction-id"));
  assert.equal(failed.status, "failed");
  assert.ok(nanos(failed.charged_usd) > 0);
});

eachService("exports hold these calls; a deletion takes their media too", {}, async (service) => {
  interface Named {
    sha256: string;
    url: string;
  }
  const drawn = await post(service, calls[0]!, "A red door. [bytes:200000]");
  const spoken = await service.post("/vendor-b/v1/audio/speech", {
    model: "tts-1",
    voice: "alloy",
    input: "Good morning. [long:5]",
    response_format: "wav",
  });
  const [picture, words] = [await drawn.json(), Buffer.from(await spoken.arrayBuffer())];
  const ids = [drawn, spoken].map(({ headers }) => headers.get("x-transaction-id")!);
  const rows = await Promise.all(ids.map((id) => service.row(id)));
  const named = [
    (rows[0]!.response as { data: { b64_json: Named }[] }).data[0]!.b64_json,
    (rows[1]!.response as { data: Named }).data,
  ];
  const kept = await Promise.all(named.map(async ({ url }) => {
    const answer = await service.fetch(url);
    assert.equal(answer.status, 200);
    return Buffer.from(await answer.arrayBuffer());
  }));
  assert.deepEqual(kept, [Buffer.from(picture.data[0].b64_json, "base64"), words]);
  const csv = await service.post("/api/v1/exports", {
    start_date: "2020-01-01T00:00:00Z",
    format: "csv",
  });
  const text = await csv.text();
  for (const { sha256 } of named) assert.ok(text.includes(sha256));
  const deleted = await service.fetch("/api/v1/data", {
    method: "DELETE",
    headers: { "content-type": "application/json" },
    body: json({ transaction_ids: ids, confirm: true }),
  });
  assert.ok(deleted.status < 300, await deleted.text());
  for (const { url } of named) {
    let status = 200;
    for (let attempt = 0; attempt < 2_400 && status === 200; attempt++) {
      const answer = await service.fetch(url);
      await answer.body?.cancel();
      status = answer.status;
      if (status === 200) await new Promise((resolve) => setTimeout(resolve, 25));
    }
    assert.equal(status, 404);
  }
  assert.deepEqual(await service.rows(), []);
});
