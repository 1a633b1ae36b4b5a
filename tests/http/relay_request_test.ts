import assert from "@std/assert";
import type { RecordedRequest } from "../support/fake_vendor.ts";
import { shared } from "../support/service.ts";
import {
  scriptedModel,
  startScriptedService,
  streamEvents,
  wholeAnswer,
} from "../support/service_scripted.ts";

const service = shared(() => startScriptedService());

const family = "/vendor-b/v1/chat/completions";
const unified = "/chat/v1/chat/completions";

/** A body that no JSON writer would write like this. `%` stands for the model, `#` for the script. */
const odd = `{ "temperature" : 1.0,"zeta":12345678901234567890, "seed": -0,
  "x_script":"#",\t"model":"%" ,"e":1E+2, "esc":"\\u00e9\\/\\ud83d\\ude00", "é":"ü😀",
  "messages":[{"content":"Hi \\u0041","role":"user","name":null,"unknown":{"b":1,"a":[ ]}}],
  "logit_bias":{ "50256" : -100.000 },"metadata":{},"nested":[[[[1.10]]]] }  `;

/** What the vendor received for this text. */
async function sent(
  text: string,
  path = family,
  headers: Record<string, string> = {},
): Promise<RecordedRequest> {
  let received: RecordedRequest | undefined;
  // The script is registered by a call of its own; ours names it.
  const { tries } = await service().call((exchange, attempt) => {
    if (attempt > 1) received = exchange.request;
    return /"stream": ?true/.test(exchange.request.body)
      ? exchange.stream(streamEvents)
      : exchange.answer(200, wholeAnswer);
  });
  const name = JSON.parse(tries[0]!.body).x_script;
  const answer = await service().post(path, text.replace("#", name), headers);
  assert.equal(answer.status, 200, await answer.text());
  const { body } = received!;
  return { ...received!, body: body.replace(name, "#") };
}

Deno.test("on a family a request with the vendor's own model name arrives byte for byte", async () => {
  const text = odd.replace("%", scriptedModel);
  assert.equal((await sent(text)).body, text);
});

Deno.test("of a provider's name in front of the model nothing else changes", async () => {
  for (
    const [path, model] of [
      [family, "vendor-b/gpt-4.1"],
      [family, "openai/gpt-4.1"],
      [unified, "vendor-b/gpt-4.1"],
      [unified, "openai/gpt-4.1"],
      // Written with an escape: the name is what counts.
      [unified, "openai\\/gpt-4.1"],
    ] as const
  ) {
    assert.equal((await sent(odd.replace("%", model), path)).body, odd.replace("%", scriptedModel));
  }
});

Deno.test("a stream asks the vendor for usage, whatever the caller asked, and changes nothing else", async () => {
  const around = (options: string) =>
    `{"stream": true${options},"x_script":"#", "model":"gpt-4.1","top_k":1.0,"messages":[{"role":"user","content":"x"}]}`;
  const asked = '"stream_options":{"include_usage":true}';
  const cases: readonly [given: string, arrives: string][] = [
    [around(""), around("").replace(/}$/, `,${asked}}`)],
    [around(`,${asked}`), around(`,${asked}`)],
    [
      around(',"stream_options" : { "include_usage" : false , "x":1.0}'),
      around(',"stream_options" : { "include_usage" : true , "x":1.0}'),
    ],
    [around(',"stream_options":null'), around(`,${asked}`)],
    [around(',"stream_options":{}'), around(`,${asked}`)],
    [
      around(',"stream_options":{"include_obfuscation":false}'),
      around(',"stream_options":{"include_obfuscation":false,"include_usage":true}'),
    ],
  ];
  for (const [given, arrives] of cases) assert.equal((await sent(given)).body, arrives);
});

Deno.test("tag lines are cut out of the prompt, and nothing beside them", async () => {
  const body = (system: string, user: string) =>
    `{"x_script":"#","model":"gpt-4.1","messages":[{"role":"system","content":${system}},` +
    `{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:,x"}},` +
    `{"type":"text","text":${user}}]},{"role":"user","content":"/// APP not-this-one\\nx"}]}`;
  const given = body(
    '"/// APP shop\\r\\n/// FLOW pay\\nYou are \\u00e9."',
    '"/// COHORT c-\\u0031\\n\\/// APP late\\n/// Example\\nHi"',
  );
  const arrives = body('"You are \\u00e9."', '"/// Example\\nHi"');
  assert.equal((await sent(given)).body, arrives);
  const rows = await service().rows({ app: "shop" });
  const { app, flow, cohort_id } = rows.at(-1)!;
  assert.deepEqual({ app, flow, cohort_id }, { app: "shop", flow: "pay", cohort_id: "c-1" });
});

Deno.test("the vendor gets its own key and nothing of the caller's but what its row names", async () => {
  const { key, vendorKey } = service();
  const { headers, body, path, method } = await sent(odd.replace("%", scriptedModel), family, {
    "x-api-key": key,
    "x-goog-api-key": key,
    cookie: `session=${key}`,
    "x-request-id": "mine-1",
    "x-session-id": "session-1",
    "x-user-id": "user-1",
    "x-forwarded-for": "203.0.113.9",
    "openai-organization": "org-of-the-caller",
    "openai-beta": "assistants=v2",
    "x-stainless-os": "Linux",
    "user-agent": "of-the-caller/1.0",
    "accept-encoding": "gzip, br",
    te: "trailers",
  });
  assert.deepEqual([method, path], ["POST", "/v1/chat/completions"]);
  const { host, "content-length": length, connection: _, ...rest } = headers;
  assert.match(host ?? "", /^127\.0\.0\.1:\d+$/);
  assert.ok(Number(length) > 0);
  assert.deepEqual(rest, {
    authorization: `Bearer ${vendorKey}`,
    "content-type": "application/json",
    accept: "application/json",
    "accept-encoding": "identity",
    "openai-beta": "assistants=v2",
  });
  assert.ok(!JSON.stringify(headers).includes("dmt_") && !body.includes("dmt_"));
});

Deno.test("in the dual-key form the vendor gets the caller's vendor key, and only that", async () => {
  const { key, vendorKey } = service();
  const own = "sk-of-the-caller";
  for (
    const carrier of [
      { authorization: `Bearer ${key};${own}` },
      { authorization: `Bearer ${key} ; ${own}` },
      { "x-api-key": `${key};${own}`, authorization: "Bearer not-a-service-key" },
    ]
  ) {
    const { headers } = await sent(odd.replace("%", scriptedModel), family, { ...carrier });
    assert.equal(headers.authorization, `Bearer ${own}`);
    const all = JSON.stringify(headers);
    assert.ok(!all.includes("dmt_") && !all.includes(vendorKey));
  }
});

Deno.test("the stored request is the one that the caller wrote, tags and all", async () => {
  const text = odd.replace("%", "openai/gpt-4.1");
  await sent(text, unified, { "x-request-id": "stored-as-written" });
  const answer = await service().post("/api/v1/exports", {
    start_date: "2020-01-01T00:00:00Z",
    filters: { request_id: "stored-as-written" },
  });
  const stored = await answer.text();
  // In the export the payload is the text itself, not a copy of what JSON made of it.
  assert.ok(stored.includes('"zeta":12345678901234567890'));
  assert.ok(stored.includes('"temperature" : 1.0'));
  assert.ok(stored.includes('"openai/gpt-4.1" ,"e":1E+2'));
});
