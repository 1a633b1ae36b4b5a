import assert from "@std/assert";
import { vendorFamilies } from "../../contracts/calls/vendors.ts";
import { Secret } from "../base/secret.ts";
import { createRegistry, type CustomVendor, type Vendor } from "./registry.ts";

const row: CustomVendor = {
  label: "corp",
  aliases: ["intern"],
  baseUrl: "https://llm.corp.example/v1",
  apiKey: new Secret("corp-key"),
  dialects: ["chat"],
  auth: "bearer",
  modelsPath: "/models",
};

function get(registry: ReturnType<typeof createRegistry>, name: string): Vendor {
  const vendor = registry.find(name);
  if (!vendor) throw new Error(`no vendor ${name}`);
  return vendor;
}

const seven = createRegistry({}, []);

/** docs/vendor-paths.md, row by row. */
const table: [string, string, string, string, string][] = [
  ["vendor-a", "huggingface", "https://router.huggingface.co/v1", "chat, responses", "bearer"],
  ["vendor-b", "openai", "https://api.openai.com/v1", "chat, responses", "bearer"],
  ["vendor-c", "anthropic", "https://api.anthropic.com/v1", "messages", "x-api-key"],
  [
    "vendor-d",
    "google",
    "https://generativelanguage.googleapis.com/v1beta",
    "generate",
    "x-goog-api-key",
  ],
  [
    "vendor-e",
    "gemini",
    "https://generativelanguage.googleapis.com/v1beta",
    "generate",
    "x-goog-api-key",
  ],
  [
    "vendor-f",
    "openrouter",
    "https://openrouter.ai/api/v1",
    "chat, responses, messages",
    "bearer",
  ],
  ["vendor-g", "xai", "https://api.x.ai/v1", "chat, responses", "bearer"],
];
for (const [label, alias, baseUrl, dialects, auth] of table) {
  Deno.test(`${label} is the row of the interface, found by label and by ${alias}`, () => {
    const vendor = get(seven, label);
    assert.equal(seven.find(alias), vendor);
    assert.deepEqual(
      [vendor.baseUrl, vendor.dialects.join(", "), vendor.auth, vendor.apiKey],
      [baseUrl, dialects, auth, undefined],
    );
    assert.equal(vendor.family.label, label);
    assert.deepEqual(vendor.aliases, vendor.family.aliases);
  });
}

Deno.test("the seven are there in their order, and no other name is", () => {
  assert.deepEqual(seven.all.map(({ label }) => label), vendorFamilies.map(({ label }) => label));
  for (const name of ["", "vendor-h", "OpenAI", "constructor", "__proto__"]) {
    assert.equal(seven.find(name), undefined, name);
  }
});

Deno.test("vendor-c gets the version of its API", () => {
  assert.equal(get(seven, "vendor-c").fixedHeaders["anthropic-version"], "2023-06-01");
});

Deno.test("the environment's address and key hold for the vendor they name", () => {
  const registry = createRegistry({
    "vendor-b": { baseUrl: "http://127.0.0.1:1/v1", apiKey: new Secret("b") },
  }, []);
  assert.equal(get(registry, "vendor-b").baseUrl, "http://127.0.0.1:1/v1");
  assert.equal(get(registry, "openai").apiKey?.reveal(), "b");
  assert.equal(get(registry, "vendor-a").apiKey, undefined);
  assert.equal(get(registry, "vendor-g").baseUrl, "https://api.x.ai/v1");
});

const d = { baseUrl: "http://d.example/v1beta", apiKey: new Secret("d-key") };
const e = { baseUrl: "http://e.example/v1beta", apiKey: new Secret("e-key") };
const dRow: CustomVendor = {
  ...row,
  label: "vendor-d",
  aliases: [],
  baseUrl: "http://file.example/v1beta",
  apiKey: new Secret("file-key"),
  dialects: ["generate"],
  auth: "x-goog-api-key",
};
const sharing: [string, Parameters<typeof createRegistry>, string, string][] = [
  ["what vendor-d was given", [{ "vendor-d": d }, []], "http://d.example/v1beta", "d-key"],
  ["its own, where it has it", [{ "vendor-d": d, "vendor-e": e }, []], e.baseUrl, "e-key"],
  [
    "its own address and vendor-d's key",
    [{ "vendor-d": d, "vendor-e": { baseUrl: e.baseUrl } }, []],
    e.baseUrl,
    "d-key",
  ],
  ["what VENDORS_FILE says of vendor-d", [{ "vendor-d": d }, [dRow]], dRow.baseUrl, "file-key"],
];
for (const [name, deps, baseUrl, key] of sharing) {
  Deno.test(`vendor-e uses ${name}`, () => {
    const vendor = get(createRegistry(...deps), "vendor-e");
    assert.deepEqual([vendor.baseUrl, vendor.apiKey?.reveal()], [baseUrl, key]);
  });
}

Deno.test("the cost that two vendors report is trusted, and one of them admits what has no price", () => {
  const labels = (is: (vendor: Vendor) => boolean) =>
    ["vendor-a", "vendor-b", "vendor-c", "vendor-d", "vendor-e", "vendor-f", "vendor-g"]
      .filter((label) => is(get(seven, label)));
  assert.deepEqual(labels(({ reportsCost }) => reportsCost), ["vendor-f", "vendor-g"]);
  assert.deepEqual(labels(({ admitsUnpriced }) => admitsUnpriced), ["vendor-f"]);
});

Deno.test("vendor-d does not use what vendor-e was given", () => {
  const vendor = get(createRegistry({ "vendor-e": e }, []), "vendor-d");
  assert.equal(vendor.apiKey, undefined);
  assert.notEqual(vendor.baseUrl, e.baseUrl);
});

Deno.test("an operator's row adds a vendor beside the seven, with paths of its own", () => {
  const registry = createRegistry({}, [row]);
  assert.equal(registry.all.length, 8);
  const vendor = get(registry, "intern");
  assert.equal(vendor.label, "corp");
  assert.equal(vendor.apiKey?.reveal(), "corp-key");
  assert.equal(vendor.sharesWith, "corp");
  assert.deepEqual([vendor.family.label, vendor.family.aliases, vendor.family.dialects], [
    "corp",
    ["intern"],
    ["chat"],
  ]);
  assert.equal(vendor.reportsCost, false);
});

Deno.test("a row's first dialect brings the wire format's version and list format", () => {
  const messages = get(createRegistry({}, [{ ...row, dialects: ["messages"] }]), "corp");
  assert.equal(messages.fixedHeaders["anthropic-version"], "2023-06-01");
  assert.equal(messages.modelsFormat, "anthropic");
  const generate = get(createRegistry({}, [{ ...row, dialects: ["generate", "chat"] }]), "corp");
  assert.equal(generate.modelsFormat, "google");
  const chat = get(createRegistry({}, [row]), "corp");
  assert.deepEqual([chat.modelsFormat, chat.fixedHeaders], ["openai", {}]);
});

Deno.test("a row of one of the seven changes what it names and keeps the rest", () => {
  const registry = createRegistry(
    { "vendor-g": { apiKey: new Secret("env-key") } },
    [{ ...row, label: "vendor-g", apiKey: undefined, dialects: ["chat", "responses"] }],
  );
  const vendor = get(registry, "vendor-g");
  assert.equal(registry.all.length, 7);
  assert.equal(vendor.baseUrl, row.baseUrl);
  assert.equal(vendor.apiKey?.reveal(), "env-key");
  assert.deepEqual(vendor.dialects, ["chat", "responses"]);
  assert.deepEqual(vendor.quirks, get(seven, "vendor-g").quirks);
  assert.deepEqual(vendor.aliases, ["xai", "intern"]);
  // Paths are mounted from the family: the new alias is one too.
  assert.deepEqual(vendor.family.aliases, ["xai", "intern"]);
  assert.equal(registry.find("intern"), vendor);
});

const clashes: [string, CustomVendor[], RegExp][] = [
  ["another's alias for a label", [{ ...row, label: "openai" }], /^openai: names vendor-b and op/],
  ["another's label for an alias", [{ ...row, aliases: ["vendor-a"] }], /^vendor-a: names/],
  ["two rows with one alias", [row, { ...row, label: "corp2" }], /^intern: names corp and corp2/],
];
for (const [name, custom, message] of clashes) {
  Deno.test(`${name} is refused: calls would go to another vendor than meant`, () => {
    assert.throws(() => createRegistry({}, custom), { message });
  });
}

Deno.test("no row prints its key", () => {
  const registry = createRegistry({ "vendor-b": { apiKey: new Secret("canary") } }, [row]);
  assert.doesNotMatch(Deno.inspect(registry, { depth: 9 }), /canary|corp-key/);
  assert.doesNotMatch(JSON.stringify(registry.all), /canary|corp-key/);
});

Deno.test("callers of other dialects are translated to what the row names, else to its first", () => {
  assert.equal(get(seven, "vendor-b").translateTo, "responses");
  for (const label of ["vendor-a", "vendor-f", "vendor-g"]) {
    assert.equal(get(seven, label).translateTo, undefined);
  }
  const both = { ...row, dialects: ["chat", "responses"] as const };
  const custom = get(createRegistry({}, [{ ...both, translateTo: "responses" }]), "corp");
  assert.equal(custom.translateTo, "responses");
  assert.equal(get(createRegistry({}, [both]), "corp").translateTo, undefined);
  const over = (more: Partial<CustomVendor>) =>
    get(createRegistry({}, [{ ...both, label: "vendor-b", aliases: [], ...more }]), "vendor-b");
  assert.equal(over({}).translateTo, "responses", "kept from the row that it overrides");
  assert.equal(over({ translateTo: "chat" }).translateTo, "chat");
  assert.equal(over({ dialects: ["chat"] }).translateTo, undefined, "gone with its dialect");
});
