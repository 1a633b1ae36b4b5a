import assert from "@std/assert";
import { runAtOnce, type Step } from "../../base/heavy_work.ts";
import { quoteJson, quoteText } from "../../base/quoted_json.ts";
import { finish, type Steps } from "../../base/steps.ts";
import { messages } from "../../dialects/text/messages/mod.ts";
import { responses } from "../../dialects/text/responses/mod.ts";
import type { StoredResponseStore } from "../../shared/stored_response.ts";
import { callerFor, continueConversation, retainerOf } from "./conversation.ts";

Deno.test("an id that is missing here is looked for again, unless the vendor may have it", async () => {
  let looks = 0;
  const store = {
    findResponse: () => Promise.resolve(undefined),
    lookAgain: () => Promise.resolve(void looks++),
  } as Partial<StoredResponseStore> as StoredResponseStore;
  const body = { messages: [], thread: { type: "continue", previous_message_id: "msg_1" } };
  const caller = { header: () => undefined, principal: { account: { id: 1 }, key: {} } };
  const request = { caller, dialect: messages, body, bodyText: JSON.stringify(body) };
  const goOn = (mayBeVendors: boolean) =>
    continueConversation(request as never, store, { mayBeVendors });
  assert.deepEqual(await goOn(true), {
    ...{ body, bodyText: request.bodyText, sources: [], isVendors: true },
  });
  assert.equal(looks, 0);
  await assert.rejects(goOn(false), { code: "previous_response_not_found" });
  assert.equal(looks, 1);
});

Deno.test("a turn's own tag lines don't become a part of the conversation", async () => {
  const tagged = '"\\u002f// FLOW f\\nTwo\\u003f"';
  const cases = [
    [
      responses,
      { role: "user", content: "/// COHORT c\nOne?" },
      { id: "resp_1", status: "completed", output: [] },
      `{"model":"m","previous_response_id":"resp_1","input":${tagged}}`,
      (body: Json) => body.input,
    ],
    [
      messages,
      { system: "/// APP a\nBe brief." },
      { id: "msg_1", type: "message", role: "assistant", content: [] },
      `{"model":"m","thread":{"type":"continue","previous_message_id":"msg_1"},"messages":[{"role":"user","content":${tagged}}]}`,
      (body: Json) => body.messages,
    ],
  ] as const;
  for (const [dialect, first, answer, bodyText, itemsOf] of cases) {
    const stored = { transactionId: "t1", responseId: answer.id, itemIds: [], sources: [] };
    const store = {
      findResponse: () =>
        Promise.resolve({
          ...stored,
          inputItemsText: JSON.stringify([first]),
          answerText: JSON.stringify(answer),
        }),
    } as Partial<StoredResponseStore> as StoredResponseStore;
    const caller = { header: () => undefined, principal: { account: { id: 1 }, key: {} } };
    const body = JSON.parse(bodyText);
    const { tagBlocks } = dialect.readRequest(body);
    const request = { caller, dialect, body, bodyText, tagBlocks };
    const continued = await continueConversation(request as never, store);
    const items = itemsOf(continued.body as Json) as Json[];
    assert.deepEqual(JSON.stringify(items.at(-1)).match(/"[^"]*Two[^"]*"/g), ['"Two?"']);
    assert.deepEqual(itemsOf(JSON.parse(continued.bodyText)), items);
    assert.ok(continued.bodyText.includes('"Two\\u003f"'), continued.bodyText);
    // The tags of the conversation's beginning hold for all of it: they are cut and read each time.
    assert.ok(continued.bodyText.includes(Object.values(first).at(-1)!.slice(0, 6)));
  }
});

/** A caller, and how many turns its work has taken. */
function countingCaller() {
  const counted = { turns: 0 };
  const heavyStep = (): Step =>
    Object.assign(<T>(job: () => T) => runAtOnce(job), {
      isHeavy: true,
      inSteps: async <T>(job: () => Steps<T>) => {
        const steps = job();
        for (let made = steps.next();; made = steps.next(), counted.turns++) {
          if (made.done) return await made.value;
        }
      },
    });
  const principal = { account: { id: 1 }, key: {} };
  return { counted, caller: { header: () => undefined, principal, heavyStep } };
}

Deno.test("a small request that continues a large conversation runs in turns", async () => {
  const text = "a\n".repeat(600_000);
  const question = { role: "user", content: text };
  const content = [{ type: "output_text", text }];
  const said = { type: "message", role: "assistant", content };
  const quoted = (value: unknown) => finish(quoteJson(value));
  for (
    const [asked, output, write, written] of [
      [[question], [], JSON.stringify, JSON.stringify],
      [[question], [], quoted, JSON.stringify],
      [[], [said], JSON.stringify, JSON.stringify],
      [[], [said], JSON.stringify, (value: unknown) => finish(quoteText(JSON.stringify(value)))],
    ] as const
  ) {
    const answer = { id: "resp_1", status: "completed", output };
    const store = {
      findResponse: () =>
        Promise.resolve({
          ...{ transactionId: "t1", responseId: "resp_1", itemIds: [], sources: [] },
          inputItemsText: write(asked),
          answerText: written(answer),
        }),
    } as Partial<StoredResponseStore> as StoredResponseStore;
    const { caller, counted } = countingCaller();
    const body = { model: "m", previous_response_id: "resp_1", input: [{ role: "user" }] };
    const request = { caller, dialect: responses, body, bodyText: JSON.stringify(body) };
    const continued = await continueConversation(
      { ...request, tagBlocks: [] } as never,
      store,
    );
    const { input } = JSON.parse(continued.bodyText);
    assert.deepEqual(input, [...asked, ...output, { role: "user" }]);
    // It is parsed, written and looked through.
    assert.ok(counted.turns > 27, `${counted.turns} turns`);
    assert.equal(callerFor(caller as never, continued.bodyText.length).step?.isHeavy, true);
    assert.equal(callerFor(caller as never, request.bodyText.length), caller);
  }
});

Deno.test("a small request that refers to items of large answers runs in turns", async () => {
  const output = [1, 2].map((id) => ({
    ...{ type: "message", id: `msg_${id}`, role: "assistant" },
    content: [{ type: "output_text", text: "a\n".repeat(600_000) }],
  }));
  const store = {
    findByItems: () =>
      Promise.resolve(output.map((item, at) => ({
        ...{ transactionId: `t${at}`, itemIds: [item.id], sources: [] },
        answerText: JSON.stringify({ id: `resp_${at}`, status: "completed", output: [item] }),
      }))),
  } as never;
  const { caller, counted } = countingCaller();
  const input = output.map(({ id }) => ({ type: "item_reference", id }));
  const body = { model: "m", input };
  const request = { caller, dialect: responses, body, bodyText: JSON.stringify(body) };
  const continued = await continueConversation({ ...request, tagBlocks: [] } as never, store);
  assert.deepEqual(JSON.parse(continued.bodyText).input, output);
  // Each answer is parsed, the items are written and looked through.
  assert.ok(counted.turns > 45, `${counted.turns} turns`);
});

type Json = Record<string, unknown>;

Deno.test("what a long request adds to its conversation is written in steps once it was answered", () => {
  const input = Array(20_000).fill({ role: "user", content: "a question that was asked before" });
  const retain = retainerOf(
    responses,
    { body: { model: "m", input }, sources: [], isVendors: false },
    undefined,
  )!;
  const work = retain('{"id":"resp_1","output":[]}');
  let steps = 0;
  let step = work.next();
  for (; !step.done; step = work.next()) steps++;
  assert.equal(JSON.parse(String(step.value!.inputItemsText)).length, input.length);
  assert.ok(steps > 2, `${steps} steps`);
});
