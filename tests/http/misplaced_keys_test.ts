import assert from "@std/assert";
import { FakeClock } from "../../src/base/clock.ts";
import { mintKey } from "../../src/keys/credential.ts";
import { startFourVendors } from "../support/four_vendors.ts";
import { startSimulatedService } from "../support/service.ts";

Deno.test("a key that was put where a model belongs is in no answer or log line", async () => {
  await using service = await startSimulatedService();
  const misplaced = mintKey(new FakeClock()).value.reveal();
  const send = async (path: string, body: unknown) => {
    const answer = await fetch(service.baseUrl + path, {
      method: "POST",
      headers: { authorization: `Bearer ${service.key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    assert.ok(answer.status >= 400 && answer.status < 500, `${path}: ${answer.status}`);
    return await answer.text();
  };
  const messages = [{ role: "user", content: "Hello" }];
  const answers: string[] = [];
  for (const model of [misplaced, `openai/${misplaced}`, `${misplaced}/gpt-5-mini`]) {
    answers.push(
      await send("/chat/v1/chat/completions", { model, messages }),
      await send("/vendor-b/v1/chat/completions", { model, messages }),
      await send("/vendor-b/v1/embeddings", { model, input: "Hello" }),
      await send("/chat/v1/responses", { model, input: "Hello" }),
      await send("/chat/v1/messages", { model, max_tokens: 9, messages }),
      await send(`/chat/v1/models/${model}:generateContent`, { contents: [] }),
      await send("/imagen/v1/generate", { model, provider: "openai", prompt: "a cat" }),
      await send("/imagen/v1/generate", { provider: model, prompt: "a cat" }),
      await send(`/v1beta/models/${model}:generateContnt`, { contents: [] }),
      await send(`/openai/v1/models/${model}:generateContent`, { contents: [] }),
      await send(`/nothing/${model}`, {}),
    );
  }
  const texts = [...answers, ...service.log];
  assert.deepEqual(texts.filter((text) => text.includes(misplaced.slice(4, -4))), []);
  assert.ok(service.log.some((line) => line.includes("code=model_not_found")));
  assert.match(answers.join("\n"), /unknown model 'openai\/\*\*\*'/);
  assert.match(answers.join("\n"), /Did you mean POST \/v1beta\/models\/\*\*\*:generateContent\?/);
});

Deno.test("a key that was put where a model belongs reaches no vendor", async () => {
  await using service = await startFourVendors();
  const misplaced = mintKey(new FakeClock()).value.reveal();
  const messages = [{ role: "user", content: "Hello" }];
  const headers = { authorization: `Bearer ${service.key};sk-own-key` };
  for (const name of [misplaced, `${misplaced};sk-own-key`, `Bearer ${misplaced}`]) {
    for (const [path, model] of [["up-chat", name], ["chat", `up-chat/${name}`]]) {
      const body = { model, messages };
      const answer = await service.post(`/${path}/v1/chat/completions`, body, headers);
      const { error } = await answer.json();
      assert.deepEqual([answer.status, error.code, error.param], [404, "model_not_found", "model"]);
      assert.match(error.message, /^model: unknown model '.*\*\*\*'/);
    }
  }
  assert.deepEqual(await service.rows(), []);
});

Deno.test("a key that was sent as a request's id is in no log line", async () => {
  await using service = await startSimulatedService();
  const misplaced = mintKey(new FakeClock()).value.reveal();
  for (const name of ["x-request-id", "idempotency-key"]) {
    for (const model of ["gpt-5-mini", "none"]) {
      const headers = { [name]: `${misplaced}-${name}-${model}` };
      const body = { model, messages: [{ role: "user", content: "Hello" }] };
      const answer = await service.post("/vendor-b/v1/chat/completions", body, headers);
      await answer.body?.cancel();
    }
  }
  const unknown = await service.post("/chat/v1/none", {}, { "x-request-id": misplaced });
  assert.equal(unknown.status, 404);
  await unknown.body?.cancel();
  const lines = () => service.log.filter((line) => /\bid="?\*\*\*/.test(line));
  for (let tries = 0; lines().length < 5 && tries < 1_000; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(lines().length, 5);
  assert.deepEqual(service.log.filter((line) => line.includes(misplaced.slice(4, -4))), []);
});
