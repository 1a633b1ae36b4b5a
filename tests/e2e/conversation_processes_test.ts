import assert from "@std/assert";
import { startSimulators } from "../../demo/simulators.ts";
import { createMigrated } from "../support/databases.ts";
import { postgresAvailability } from "../support/postgres.ts";
import { startTestService, type TestService } from "../support/service.ts";

const { available, reason } = postgresAvailability();
const model = "vendor-b/gpt-4.1";

/** Behind a balancer the next request goes to another process, before the answer's row is written. */
Deno.test({
  name: `an answer is continued, read and deleted at once at another process${
    available ? "" : ` (skipped: ${reason})`
  }`,
  ignore: !available,
  async fn() {
    const database = await createMigrated();
    const simulators = await startSimulators();
    const { baseUrl, apiKey } = simulators.vendors["vendor-b"];
    const env = {
      DATABASE_URL: database.url,
      MASTER_KEY: btoa("k".repeat(32)),
      VENDOR_B_BASE_URL: baseUrl,
      VENDOR_B_API_KEY: apiKey,
    };
    try {
      await using first = await startTestService({ env });
      await using second = await startTestService({ env });
      await continued(first, second);
      await readAndDeleted(first, second);
    } finally {
      await simulators.close();
      await database.drop();
    }
  },
});

async function continued(first: TestService, second: TestService): Promise<void> {
  const authorization = `Bearer ${first.key}`;
  const post = async (service: TestService, path: string, body: unknown) => {
    const answer = await service.post(`/chat/v1/${path}`, body, { authorization });
    const value = await answer.json();
    assert.equal(answer.status, 200, JSON.stringify(value));
    return value;
  };
  const { id } = await post(first, "responses", { model, input: "My name is Ann." });
  const next = { model, input: "Who am I?", previous_response_id: id };
  const { output } = await post(second, "responses", next);
  const input = [{ type: "item_reference", id: output[0].id }, { role: "user", content: "Well?" }];
  await post(first, "responses", { model, input });

  const message = { model, max_tokens: 100, messages: [{ role: "user", content: "Hello." }] };
  const thread = await post(first, "messages", { ...message, thread: { type: "create" } });
  const of = { type: "continue", previous_message_id: thread.id };
  await post(second, "messages", { ...message, thread: of });
}

async function readAndDeleted(first: TestService, second: TestService): Promise<void> {
  const headers = { authorization: `Bearer ${first.key}` };
  const respond = async () => {
    const answer = await first.post("/chat/v1/responses", { model, input: "Hello." });
    return `/chat/v1/responses/${(await answer.json()).id}`;
  };
  const ask = async (path: string, method = "GET") => {
    const answer = await second.fetch(path, { method, headers });
    await answer.body?.cancel();
    return answer.status;
  };
  assert.equal(await ask(await respond()), 200, "read");
  assert.equal(await ask(`${await respond()}/input_items`), 200, "its input");
  const path = await respond();
  assert.deepEqual([await ask(path, "DELETE"), await ask(path)], [200, 404], "deleted");
}
