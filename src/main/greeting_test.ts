import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import { Secret } from "../base/secret.ts";
import { createVendors } from "./vendors.ts";
import { parseConfig } from "./config.ts";
import { firstModel, greeting } from "./greeting.ts";

function linesOf(env: Record<string, string>, key?: string, links = {}): string {
  const config = parseConfig(env);
  const clock = new FakeClock();
  const { registry, prices } = createVendors(config, clock);
  const deps = { config, version: "1.2.3", registry, prices, clock };
  const firstKey = key === undefined ? undefined : new Secret(key);
  return greeting(deps, "http://127.0.0.1:8787", firstKey, links).join("\n");
}

Deno.test("every start names addresses, vendors with a key and how to make another", () => {
  const text = linesOf({ OPENAI_API_KEY: "k1", VENDOR_C_API_KEY: "k2", XAI_API_KEY: " " });
  assert.match(text, /^demeter 1\.2\.3 listens on http:\/\/127\.0\.0\.1:8787$/m);
  assert.match(text, /^ {2}API +http:\/\/127\.0\.0\.1:8787\/v1 /m);
  assert.match(
    text,
    /^ {2}Dashboard +http:\/\/127\.0\.0\.1:8787\/dashboard \(sign in: .*admin sign-in\)$/m,
  );
  assert.match(text, /^ {2}Reference +http:\/\/127\.0\.0\.1:8787\/reference$/m);
  assert.match(
    text,
    /^ {2}Vendors +openai \(vendor-b\) by OPENAI_API_KEY, anthropic \(vendor-c\)$/m,
  );
  assert.match(text, /HUGGINGFACE_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, XAI_API_KEY$/m);
  assert.match(text, /^ {2}New key +deno task admin key create --name <name>$/m);
  for (const secret of ["k1", "k2"]) assert.ok(!text.includes(secret));
});

Deno.test("without vendor keys a start names the variables; behind a proxy the public address", () => {
  const text = linesOf({ BASE_URL: "https://llm.example.com", LOCAL_SIGN_IN: "false" });
  assert.match(
    text,
    /^ {2}Vendors +none has a key\n +set a key for more: HUGGINGFACE_API_KEY, OPENAI_API_KEY, /m,
  );
  assert.match(text, /^ {2}Dashboard +https:\/\/llm\.example\.com\/dashboard$/m);
});

Deno.test("commands are shown with the directory where the data is", () => {
  const text = linesOf({ DATA_DIR: "/var/lib/demeter" });
  assert.match(text, /New key +DATA_DIR=\/var\/lib\/demeter deno task admin key create /);
});

Deno.test("the first start adds key, call and links; later ones don't", () => {
  const text = linesOf({ ANTHROPIC_API_KEY: "k" }, "dmt_first", { signIn: "http://x/link" });
  assert.match(text, /works once:\n\n {2}http:\/\/x\/link\n/);
  assert.match(text, /API key +dmt_first\n/);
  assert.match(
    text,
    /curl http:\/\/127\.0\.0\.1:8787\/chat\/v1\/chat\/completions .*"anthropic\/claude-/,
  );
  assert.doesNotMatch(text, /no vendor key is set/);
  assert.doesNotMatch(linesOf({ ANTHROPIC_API_KEY: "k" }), /curl|dmt_|First start/);
});

Deno.test("a first start with a vendor of one's own says what its models lack: a key, or prices", async () => {
  const VENDORS_FILE = await Deno.makeTempFile();
  const row = { label: "acme", base_url: "https://acme.example/v1", api_key_env: "ACME_API_KEY" };
  await Deno.writeTextFile(
    VENDORS_FILE,
    JSON.stringify([{ ...row, dialects: ["chat"], auth: "bearer" }]),
  );
  try {
    assert.match(linesOf({ VENDORS_FILE }, "dmt_first"), /Next: no vendor key is set\./);
    const keyed = linesOf({ VENDORS_FILE, ACME_API_KEY: "k" }, "dmt_first");
    assert.match(keyed, /Next: no price is known for any model of acme, .*\n.*PRICES_FILE;/);
    assert.doesNotMatch(keyed, /no vendor key is set/);
  } finally {
    await Deno.remove(VENDORS_FILE);
  }
});

Deno.test("a first call names a model of a vendor that has a key, whichever that is", () => {
  const names = ["HUGGINGFACE", "OPENAI", "ANTHROPIC", "GEMINI", "OPENROUTER", "XAI"];
  const clock = new FakeClock();
  const models = names.map((name) =>
    firstModel({ ...createVendors(parseConfig({ [`${name}_API_KEY`]: "k" }), clock), clock })
  );
  assert.deepEqual(models.map((model) => model?.split("/")[0]), [
    ...["vendor-a", "vendor-b", "vendor-c", "vendor-d", "vendor-f", "vendor-g"],
  ]);
});
