import assert from "@std/assert";
import process from "node:process";
import { inspect } from "node:util";
import { maskSecrets, Secret } from "./secret.ts";

Deno.test("a secret prints as a mask wherever it is printed, and reveals on request", () => {
  const secret = new Secret("canary-4711");
  const prints = [
    String(secret),
    `${secret}`,
    "" + secret,
    JSON.stringify({ secret, list: [secret] }),
    Deno.inspect(secret),
    Deno.inspect({ deep: { secret }, map: new Map([["k", secret]]) }),
    inspect({ secret }, { showHidden: true }),
    JSON.stringify(Object.entries(secret)),
    JSON.stringify(structuredClone({ ...secret })),
  ];
  for (const print of prints) assert.ok(!print.includes("canary"), print);
  assert.ok(String(secret).includes("***"));
  assert.equal(secret.reveal(), "canary-4711");
});

Deno.test("credentials in a vendor's message are masked and the rest is kept", () => {
  const cases: [string, string][] = [
    ["Incorrect API key provided: sk-proj-abc123.", "Incorrect API key provided: ***"],
    ["bad key sk-ant-api03-AbC_d-9, sorry", "bad key ***, sorry"],
    ["key sk-pr****************WXYZ is wrong", "key *** is wrong"],
    ["API key AIzaSyD-9tSrke72PouQMnMX not valid", "API key *** not valid"],
    ["token hf_AbCdEfGhIj expired", "token *** expired"],
    ["xai-0123456789abcdef has no credit", "*** has no credit"],
    ["xai-AbCdEfGh*******WXYZ is wrong", "*** is wrong"],
    ["gsk_0123456789abcdef has no credit", "*** has no credit"],
    ["sent dmt_0aB1cD;sk-vendor-key here", "sent *** here"],
    ["sent Authorization: bearer   abc.def here", "sent Authorization: bearer *** here"],
    ['{"x-api-key":"0123456789"}', '{"x-api-key":"***"}'],
    ["see https://joe:hunter2@host.example/x", "see https://***@host.example/x"],
    [
      "GET https://host.example/v1?alt=sse&key=abc%20d&x=1",
      "GET https://host.example/v1?alt=sse&key=***&x=1",
    ],
    ["jwt eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl!", "jwt ***!"],
  ];
  for (const [text, expected] of cases) assert.equal(maskSecrets(text), expected);
});

Deno.test("ordinary words are not taken for credentials", () => {
  const text =
    "The task-specific model gpt-5-mini has a risk-averse budget of 10 tokens per key; " +
    "see https://docs.example/guide?page=2 and the API key page for sk-SK.";
  assert.equal(maskSecrets(text), text);
});

Deno.test("the addresses passed to it are masked", () => {
  assert.equal(
    maskSecrets("connect to http://10.0.0.5:9000/v1/chat failed", ["http://10.0.0.5:9000/v1", ""]),
    "connect to [address]/chat failed",
  );
});

Deno.test("masking 300 KB of hostile text stays fast", () => {
  for (const unit of ["sk-", "a://", "eyJ", "?key=", "Bearer ", "api_key:", "a", "x-"]) {
    const text = unit.repeat(Math.ceil(300_000 / unit.length));
    // By the processor's time: other tests run beside this one.
    const before = process.threadCpuUsage();
    maskSecrets(text);
    const { user, system } = process.threadCpuUsage(before);
    const elapsedMs = (user + system) / 1000;
    assert.ok(elapsedMs < 1_500, `${unit}: ${elapsedMs} ms`);
  }
});

Deno.test("a long text is cut, and the cut leaves no part of a secret", () => {
  const secrets = ["sk-proj-abcdefgh12345678", "https://joe:hunter2hunter2@host.example/x"];
  for (const secret of [...secrets, `Bearer ${"t0k3n".repeat(300)}`, `eyJ${"h".repeat(2_000)}.x`]) {
    for (let before = 3_300; before < 4_050; before += 7) {
      const masked = maskSecrets("a ".repeat(before / 2) + secret + " b".repeat(3_000));
      assert.ok(masked.length <= 4_000);
      assert.doesNotMatch(
        masked,
        /sk-p|joe|hunter|t0k3n|eyJ/,
        `${secret.slice(0, 8)} at ${before}`,
      );
    }
  }
});
