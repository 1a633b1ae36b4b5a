/** What a call of which only metadata is recorded can't have (interface.md §9). */
import assert from "@std/assert";
import { shared } from "../support/service.ts";
import {
  scriptedModel,
  startScriptedService,
  streamEvents,
  wholeAnswer,
} from "../support/service_scripted.ts";

const service = shared(startScriptedService);
const metadata = { "x-record": "metadata" };

/** Asks a path in a way that the vendor would answer. */
function ask(path: string, body: Record<string, unknown>, headers: Record<string, string> = {}) {
  return service().post(path, { model: `vendor-b/${scriptedModel}`, ...body }, {
    ...metadata,
    ...headers,
  });
}

async function refusal(answer: Response): Promise<{ code: string; param: string }> {
  const { error } = await answer.json();
  assert.equal(answer.status, 400, JSON.stringify(error));
  return { code: error.code, param: error.param };
}

Deno.test("another word in X-Record is 400, and nothing is asked or charged", async () => {
  for (const word of ["none", "metadata,full", "full metadata"]) {
    const { response, tries } = await service().call(
      (exchange) => exchange.answer(200, wholeAnswer),
      { headers: { "x-record": word } },
    );
    assert.deepEqual(await refusal(response), { code: "invalid_value", param: "X-Record" });
    assert.equal(tries.length, 0);
    const repeated = await service().call((exchange) => exchange.answer(200, wholeAnswer), {
      headers: { "x-record": word, "x-request-id": `wrong-${word.replace(" ", "-")}` },
    });
    assert.deepEqual(await refusal(repeated.response), {
      code: "invalid_value",
      param: "X-Record",
    });
  }
});

Deno.test("X-Record can only take away: a key's metadata stays", async () => {
  const { key } = await service().createKey("--record", "metadata");
  const ids: string[] = [];
  for (const headers of [{}, { "x-record": "full" }, { "x-record": "Metadata" }]) {
    const { response } = await service().call((exchange) => exchange.answer(200, wholeAnswer), {
      headers: { authorization: `Bearer ${key}`, ...headers },
    });
    await response.text();
    ids.push(response.headers.get("x-transaction-id")!);
  }
  for (const id of ids) assert.equal((await service().row(id)).request, null);
  const { response } = await service().call((exchange) => exchange.answer(200, wholeAnswer), {
    headers: { "x-record": "full" },
  });
  await response.text();
  assert.notEqual((await service().row(response.headers.get("x-transaction-id"))).request, null);
  const { json } = await service().admin("key", "list");
  const listed = json as { record: string }[];
  assert.deepEqual(new Set(listed.map(({ record }) => record)), new Set(["full", "metadata"]));
  const wrong = await service().admin("key", "create", "--name", "n", "--record", "some");
  assert.equal(wrong.exitCode, 2);
  assert.match(wrong.lines.join(), /--record some: expected full or metadata/);
});

Deno.test("what would have to be kept is refused, naming the field", async () => {
  const background = await ask("/chat/v1/responses", { input: "x", background: true });
  assert.deepEqual(await refusal(background), { code: "invalid_value", param: "background" });
  const address = await ask("/imagen/v1/generate", {
    model: "vendor-b/gpt-image-1",
    prompt: "x",
    response_format: "url",
  });
  assert.deepEqual(await refusal(address), { code: "invalid_value", param: "response_format" });
});

Deno.test("equal repeats are calls of their own, each charged; streams too", async () => {
  for (const stream of [false, true]) {
    const id = crypto.randomUUID();
    const ids = new Set<string>();
    const name = crypto.randomUUID();
    const send = () =>
      service().call(
        (exchange) => stream ? exchange.stream(streamEvents) : exchange.answer(200, wholeAnswer),
        { headers: { ...metadata, "x-request-id": id }, stream, body: { user: name } },
      );
    for (let time = 0; time < 3; time++) {
      const { response } = await send();
      assert.equal(response.headers.get("x-idempotent-replay"), null);
      await response.text();
      ids.add(response.headers.get("x-transaction-id")!);
    }
    assert.equal(ids.size, 3);
    for (const one of ids) assert.equal((await service().row(one)).charged_usd, "0.000060000");
  }
});
