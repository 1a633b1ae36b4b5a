import assert from "@std/assert";
import { runAdminHere } from "../support/admin.ts";
import { anyDatabase } from "../support/any_database.ts";
import { startService } from "../support/process.ts";
import { temporaryDirectory } from "../support/service_files.ts";

const callers = 32;
const callsEach = 60;
const calls = callers * callsEach;
/** A call's record waits for its batch, and is promoted meanwhile: its texts and some fields, 2 KB. */
const maxBytes = 4_000;
/** Of the writing thread, where a batch is gone when it is written. */
const maxBytesOfWriter = 1_500;

/**
 * What a call leaves behind must not outlive it in the young generation: the collector copies it twice,
 * and the old generation is collected for it. With V8's own settings compiled code makes some things in
 * the old generation, which hold request and answer there, and a call leaves 5,500 to 20,000 bytes
 * (docs/decisions, 0374 and 0375). Bytes are counted here, not seconds.
 */
Deno.test("little more than its record is promoted of a call that has ended", async () => {
  const answer = JSON.stringify({
    ...{ id: "1", object: "chat.completion", created: 1, model: "gpt-4.1" },
    choices: [{
      index: 0,
      message: { role: "assistant", content: "A word. ".repeat(120) },
      finish_reason: "stop",
    }],
    usage: { prompt_tokens: 10, completion_tokens: 200, total_tokens: 210 },
  });
  const headers = { "content-type": "application/json" };
  await using vendor = Deno.serve({ port: 0, onListen() {} }, async (request) => {
    await request.arrayBuffer();
    return new Response(answer, { headers });
  });
  await using database = await anyDatabase();
  const env = {
    ...database.env,
    DATA_DIR: temporaryDirectory("calls-garbage"),
    DENO_V8_FLAGS: "--trace-gc-nvp",
    VENDOR_B_BASE_URL: `http://127.0.0.1:${vendor.addr.port}`,
    VENDOR_B_API_KEY: "sk-vendor-b-0123456789",
  };
  await using service = await startService({ env });
  await service.printed(/Try it:[^]*curl[^\n]*\n/);
  for (
    const args of [
      ["credits", "grant", "--usd", "1000"],
      ["account", "tier", "1", "enterprise", "--rpm", "1000000", "--burst", "1000000"],
    ]
  ) {
    const { code, stderr } = await runAdminHere({ args, env });
    assert.equal(code, 0, stderr);
  }
  const make = async () => {
    for (let made = 0; made < callsEach; made++) {
      const response = await fetch(`${service.baseUrl}/openai/v1/chat/completions`, {
        method: "POST",
        headers: { ...headers, authorization: `Bearer ${service.firstKey}` },
        body: JSON.stringify({
          model: "gpt-4.1",
          messages: [{ role: "user", content: "What is it? ".repeat(80) }],
        }),
      });
      const text = await response.text();
      assert.equal(response.status, 200, text);
    }
  };
  const makeAll = async () => {
    const mark = service.output().length;
    await Promise.all(Array.from({ length: callers }, make));
    return promotedBytes(service.output().slice(mark)).map((bytes) => bytes / calls);
  };
  // While code is compiled, more stays.
  await makeAll();
  let [bytes = 0, ofWriter = Infinity] = await makeAll();
  // If the machine stalls, calls wait and survive; what the code retains shows every time.
  for (let more = 0; more < 2 && (bytes >= maxBytes || ofWriter >= maxBytesOfWriter); more++) {
    [bytes = 0, ofWriter = Infinity] = await makeAll();
  }
  assert.ok(bytes > 100, `${bytes} bytes a call: was anything counted?`);
  assert.ok(bytes < maxBytes, `${Math.round(bytes)} bytes of a call`);
  assert.ok(ofWriter < maxBytesOfWriter, `${Math.round(ofWriter)} bytes of a record`);
});

/** By thread: first the one with most scavenges, which serves calls, then the one that writes records. */
function promotedBytes(said: string): number[] {
  const threads = new Map<string, { count: number; bytes: number }>();
  for (
    const [, thread, promoted] of said.matchAll(
      /\[\d+:(0x[0-9a-f]+):\d+\][^\n]*?"gc":"s".*?"promoted":(\d+)/g,
    )
  ) {
    const { count, bytes } = threads.get(thread!) ?? { count: 0, bytes: 0 };
    threads.set(thread!, { count: count + 1, bytes: bytes + Number(promoted) });
  }
  return [...threads.values()].toSorted((a, b) => b.count - a.count).map(({ bytes }) => bytes);
}
