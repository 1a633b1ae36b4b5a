/**
 * What real agents sent (`deno task agents --record`), sent again: on their own vendor and on two
 * others, each judged by a simulated vendor that refuses what the real one refuses.
 */
import assert from "@std/assert";
import { openSocket } from "../support/response_socket.ts";
import { RowChecks } from "../support/row_checks.ts";
import { shared } from "../support/service.ts";
import { noToolText } from "./scripted_vendor.ts";
import { startAgentWorld } from "./world.ts";

interface Recorded {
  path: string;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

const models = ["openai/gpt-5.6-sol", "anthropic/claude-sonnet-4-6", "google/gemini-3.8-flash"];

const world = shared(() => startAgentWorld(() => "/work/note"));
const rows = new RowChecks();
let calls = 0;

const folder = new URL("../fixtures/agents/", import.meta.url);
const recordings = [...Deno.readDirSync(folder)].map(({ name }) => name).toSorted();

Deno.test("agents with most users are recorded", () => {
  for (const name of ["claude-code.json", "codex.json", "gemini-cli.json"]) {
    assert.ok(recordings.includes(name), name);
  }
});

for (const name of recordings) {
  for (const model of models) {
    Deno.test(`what ${name.replace(".json", "")} sends is taken by ${model}`, async () => {
      const { vendors, service } = world();
      const recorded = JSON.parse(Deno.readTextFileSync(new URL(name, folder))) as Recorded;
      for (const vendor of vendors) vendor.refusals.length = 0;
      const path = pathFor(recorded.path, model);
      const answer = await service.post(path, { ...recorded.body, model }, recorded.headers);
      const text = await answer.text();
      assert.equal(answer.status, 200, text.slice(0, 500));
      assert.deepEqual(vendors.flatMap(({ refusals }) => refusals), []);
      calls++;
      rows.expect(answer, `${name}, ${model}`, ({ status, charged_usd }) => {
        assert.equal(status, "completed");
        assert.match(String(charged_usd), /[1-9]/);
      });
      // It answers with a call of a tool, or a text: either came back in the agent's own dialect.
      const words = [noToolText, "NO RESULT", "DONE", "/work/note"];
      assert.ok(words.some((one) => text.includes(one)), text.slice(0, 500));
    });
  }
}

rows.register(() => world().service);

Deno.test("no call has another row", async () => {
  assert.equal((await world().service.rows()).length, calls);
});

for (const model of models) {
  Deno.test(`what codex sends as a frame of a WebSocket is taken by ${model}`, async () => {
    const { vendors, service } = world();
    const { body } = JSON.parse(Deno.readTextFileSync(new URL("codex.json", folder))) as Recorded;
    const { stream: _, ...request } = body;
    for (const vendor of vendors) vendor.refusals.length = 0;
    const session = crypto.randomUUID();
    await using socket = await openSocket(service, "/chat/v1", { "x-session-id": session });
    const events = await socket.ask({ ...request, model });
    assert.equal(events.at(-1)!.type, "response.completed");
    assert.deepEqual(vendors.flatMap(({ refusals }) => refusals), []);
    const rows = await service.rows({ session_id: session });
    assert.deepEqual(rows.map(({ status }) => status), ["completed"]);
    assert.match(String(rows[0]!.charged_usd), /[1-9]/);
  });
}

/** The unified family's path of the same endpoint, for whichever vendor. */
function pathFor(path: string, model: string): string {
  const endpoint = path.replace(/^\/[^/]+\//, "/chat/");
  return endpoint.replace(/\/models\/.*?(:\w+)/, (_, method) => `/models/${model}${method}`);
}
