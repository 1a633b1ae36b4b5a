import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { runAtOnce } from "../base/heavy_work.ts";
import { Secret } from "../base/secret.ts";
import { responses } from "../dialects/text/responses/mod.ts";
import { Fault } from "../shared/fault.ts";
import { resolveUnified } from "../vendors/model_name.ts";
import { createRegistry } from "../vendors/registry.ts";
import type { UpstreamAnswer, UpstreamRequest } from "../vendors/upstream.ts";
import { planBackground } from "./background_task.ts";
import { jobCaller } from "./call_context.ts";
import { callVendor, leftOutOf, type TextExchange } from "./text_exchange.ts";
import { VendorAccess } from "./vendor_call.ts";

const log = { info() {}, warn() {}, error() {} };
const registry = createRegistry({ "vendor-b": { apiKey: new Secret("a-key") } }, []);

function createAccess(): VendorAccess {
  const caller = jobCaller({ clock: new FakeClock(), heavy: {} as never }, {
    principal: { account: { id: 1 }, key: { onDisconnect: "cancel" } } as never,
    ...{ endpoint: "/chat", requestId: "a-request", sessionId: null, userId: null },
    signal: new AbortController().signal,
  });
  const target = resolveUnified(registry, "vendor-b/one");
  return new VendorAccess({
    ...{ caller, target, key: new Secret("a-key"), keyPool: undefined, mode: "managed" },
  });
}

function answer(status: number, text = "{}"): UpstreamAnswer {
  const readAll = () => Promise.resolve(new TextEncoder().encode(text));
  const body = { readAll, onData() {}, pause() {}, resume() {}, destroy() {} };
  return { status, headers: {}, attempts: 1, attemptLog: [], body };
}

Deno.test("what isn't refused of a request that is passed on keeps its text", async () => {
  const thought = '{"type":"reasoning","summary":[],"encrypted_content":"gAAA"}';
  const output = '{"type":"custom_tool_call_output","call_id":"c","output": "x","n":1e400}';
  const tools = '[{"type":"function","name":"f","parameters":{"maximum":18446744073709551615}}]';
  const asked = (input: string) => ({
    text: `{"model":"m","temperature":1.0,"input":${input},"a\\u0062":-0,"tools":${tools}}`,
    causes: [],
  });
  const refusal = "Could not decrypt the provided encrypted_content.";
  const ask = (text: string) =>
    leftOutOf({ text, causes: [] }, refusal, {
      ...{ upstream: responses, sameDialect: true, step: runAtOnce },
    });
  const answer = '{"role":"assistant","content":"x","id":"msg_1","n":1e0}';
  const plain = await ask(asked(`[ ${output}, ${thought}, ${answer}, ${output} ]`).text);
  const said = '{"role":"assistant","content":"x","n":1}';
  const expected = asked(`[${output},${said},${output}]`);
  assert.deepEqual(plain, { ...expected, text: expected.text.replace("a\\u0062", "ab") });
  assert.equal(await ask(plain!.text), undefined);
});

Deno.test("a refused addition is taken out of a large request in the turns of its call", async () => {
  const access = createAccess();
  const asked: UpstreamRequest[] = [];
  let steps = 0;
  const step = Object.assign(<T>(job: () => T) => runAtOnce(job), {
    async inSteps<T>(job: () => Generator<void, T, void>): Promise<T> {
      for (const work = job();; steps++) {
        const { done, value } = work.next();
        if (done) return await Promise.resolve(value as T);
      }
    },
    isHeavy: true,
  });
  const requestText = JSON.stringify({ ours: 1, theirs: Array(20_000).fill("a word or two") });
  const upstream = {
    ...{ name: "responses", upstreamPath: () => "/responses" },
    withoutRefused: ({ ours: _, ...request }: { ours?: number }) => ({ request, cause: "ours" }),
  };
  const learned = { learnProven() {}, learnRefusedAddition() {} };
  const exchange = {
    vendorCall: Object.assign(access, { caller: { ...access.caller, step } }),
    ...{ facts: { stream: false }, plan: { upstream, requestText, sameDialect: false } },
    ...{ call: { requestsLeft: 3, attempted() {} }, isLast: true },
  };
  const deps = { learned, upstream: askedUpstream(asked), log, clock: new FakeClock() };
  await callVendor(deps as never, exchange as unknown as TextExchange);
  assert.deepEqual(JSON.parse(String(asked.at(-1)!.body)).ours, undefined);
  assert.ok(steps > 2, `${steps} steps`);
});

/** Refuses the first requests with these words, and answers the next one. */
function askedUpstream(asked: UpstreamRequest[], refusals: readonly string[] = ["{}"]) {
  return {
    call: (sent: UpstreamRequest) => {
      const refusal = refusals[asked.push(sent) - 1];
      return Promise.resolve(refusal === undefined ? answer(200) : answer(400, refusal));
    },
  };
}

/** Paths and bodies of a background call's requests to a vendor that refuses the first ones. */
async function backgroundRequests(
  upstream: object,
  requestText: string,
  refusals: string[],
  more = {},
) {
  const asked: UpstreamRequest[] = [];
  const plan = { upstream, requestText, sameDialect: false, ...more };
  const exchange = {
    ...{ vendorCall: createAccess(), facts: { stream: true }, isLast: true },
    plan: planBackground(plan as never, {} as never),
    call: { requestsLeft: 5, attempted() {} },
  };
  const learned = { learnProven() {}, learnRefusedAddition() {} };
  const deps = { learned, upstream: askedUpstream(asked, refusals), log, clock: new FakeClock() };
  const isRefused = await callVendor(deps as never, exchange as unknown as TextExchange)
    .then(() => false, (thrown) => thrown instanceof Fault);
  assert.equal(isRefused, asked.length === refusals.length);
  return asked.map(({ url, body }) => [url.slice(url.lastIndexOf("/")), JSON.parse(String(body))]);
}

const noStream = "This model doesn't support streaming.";

Deno.test("a background call to a model that can't stream is asked for whole, if only by its path", async () => {
  const upstream = {
    ...{ name: "generate", resendRules: { streaming: [] } },
    upstreamPath: (_: string, stream: boolean) => stream ? "/stream" : "/whole",
  };
  const asked = await backgroundRequests(upstream, '{"contents":[]}', [noStream]);
  assert.deepEqual(asked, [["/stream", { contents: [] }], ["/whole", { contents: [] }]]);
});

Deno.test("a background call is asked for whole without what the model had refused before", async () => {
  const upstream = {
    ...{
      name: "responses",
      resendRules: { streaming: ["stream"] },
      upstreamPath: () => "/responses",
    },
    withoutRefused: ({ ours, ...request }: { ours?: number }, refusal: string) =>
      ours && refusal.includes("ours") ? { request, cause: "ours" } : undefined,
  };
  const sent = '{"ours":1,"input":"x","stream":true}';
  for (const refusals of [["ours", noStream], [noStream, "ours, streamed or not"]]) {
    const asked = await backgroundRequests(upstream, sent, refusals);
    assert.deepEqual(asked.at(-1), ["/responses", { input: "x" }]);
    assert.equal(asked.length, 3);
  }
});

Deno.test("a vendor that goes on refusing what was left out is not asked again", async () => {
  const upstream = {
    ...{
      name: "responses",
      resendRules: { streaming: ["stream"] },
      upstreamPath: () => "/responses",
    },
    withoutRefused: ({ ours: _, ...request }: { ours?: number }) => ({ request, cause: "ours" }),
  };
  const asked = await backgroundRequests(upstream, '{"ours":1}', ["ours", "ours"]);
  assert.deepEqual(asked.map(([, body]) => body), [{ ours: 1 }, {}]);
});

Deno.test("a background call is asked for whole after a refused usage flag, and for nothing after that", async () => {
  const upstream = {
    ...{ name: "chat", resendRules: { streaming: ["stream", "stream_options"] } },
    upstreamPath: () => "/chat",
    usageFlag: { isRefusedIn: (refusal: string) => refusal.includes("usage") },
  };
  const plain = { stream: true, x: 1 };
  const sent = { ...plain, stream_options: {} };
  const requests = async (...refusals: string[]) => {
    const asked = await backgroundRequests(upstream, JSON.stringify(sent), refusals, {
      *plainRequestText() {
        yield;
        return JSON.stringify(plain);
      },
    });
    return asked.map(([, body]) => body);
  };
  assert.deepEqual(await requests("no usage", noStream), [sent, plain, { x: 1 }]);
  assert.deepEqual(await requests(noStream, "no usage"), [sent, { x: 1 }]);
});
