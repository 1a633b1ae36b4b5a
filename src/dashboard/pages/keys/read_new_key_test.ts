import assert from "@std/assert";
import { Form } from "../../form.ts";
import { readKeyChange, readNewKey } from "./read_new_key.ts";

const now = new Date("2026-11-21T12:00:00Z");

function read(fields: string, isOwner = true) {
  const isModel = (name: string) => /^(fast|vendor-b\/a\d*|vendor-f\/b\/c)$/.test(name);
  const scopes = ["chat", "status", "data:delete"];
  return readNewKey(new Form(new URLSearchParams(fields)), scopes, now, isOwner, isModel);
}

Deno.test("a form becomes the key that it describes", () => {
  const { wanted } = read(
    "name=+ci+&environment=CI/CD&access=some&scope=status&scope=nothing&expires=on" +
      "&expires_on=2026-12-01&cap_day=2.5&models=vendor-b/a%0Avendor-f/b/c&on_disconnect=drain",
  );
  assert.deepEqual(wanted, {
    name: "ci",
    environment: "CI/CD",
    scopes: ["status"],
    models: ["vendor-b/a", "vendor-f/b/c"],
    expiresAt: new Date("2026-12-01T23:59:59.999Z"),
    capDayNanos: 2_500_000_000n,
    capMonthNanos: null,
    onDisconnect: "drain",
    translationMode: "default",
    promptCache: true,
  });
});

Deno.test("each choice of the form is the key's", () => {
  const choices: [string, object][] = [
    ["expires=never", { expiresAt: null }],
    ["expires=30", { expiresAt: new Date("2026-12-21T12:00:00Z") }],
    ["expires=90", { expiresAt: new Date("2027-02-19T12:00:00Z") }],
    ["expires=365", { expiresAt: new Date("2027-11-21T12:00:00Z") }],
    ["expires=on&expires_on=2026-11-21", { expiresAt: new Date("2026-11-21T23:59:59.999Z") }],
    ["record=metadata", { recording: "metadata" }],
    ["translation_mode=strict", { translationMode: "strict" }],
    ["prompt_cache=off", { promptCache: false }],
    ["cache_ttl=3600", { cacheTtlSeconds: 3600 }],
    ["cap_month=0.01", { capMonthNanos: 10_000_000n }],
  ];
  for (const [fields, chosen] of choices) {
    assert.deepEqual(read(`name=a&${fields}`).wanted, { ...read("name=a").wanted, ...chosen });
  }
});

Deno.test("only an owner's key may have every scope, or one that owners give", () => {
  const scopesOf = (fields: string, isOwner: boolean) => {
    const { wanted, fieldErrors } = read(`name=a&${fields}`, isOwner);
    return wanted?.scopes ?? fieldErrors.scopes;
  };
  const some = "access=some&scope=chat&scope=data:delete";
  assert.deepEqual([scopesOf("", true), scopesOf(some, true)], [[], ["chat", "data:delete"]]);
  assert.deepEqual(scopesOf("", false), ["chat", "status"]);
  assert.equal(scopesOf(some, false), "Only an owner can give the scope data:delete.");
});

Deno.test("a key that expects less than a call may cost keeps a cap", () => {
  const change = (fields: string, expectedOutputTokens?: number) => {
    const defaults = expectedOutputTokens === undefined ? {} : { expectedOutputTokens };
    const key = { defaults, capDayNanos: null, capMonthNanos: null };
    return readKeyChange(new Form(new URLSearchParams(`name=a&${fields}`)), key).fieldErrors;
  };
  assert.match(change("", 10).cap_day ?? "", /needs a daily or monthly cap/);
  assert.deepEqual(change("cap_month=2", 10), {});
  assert.deepEqual(change(""), {});
});

Deno.test("a model is one that calls may name, of a vendor or virtual", () => {
  assert.deepEqual(read("name=a&models=fast%0Avendor-b/a").wanted?.models, ["fast", "vendor-b/a"]);
});

Deno.test("each wrong field is named, and none becomes a key with more than was meant", () => {
  const cases: Record<string, string> = {
    "name=": "name",
    [`name=${"x".repeat(201)}`]: "name",
    "name=a%1B%5B2J": "name",
    "name=a%0Ab": "name",
    "name=a%C2%9B31m": "name",
    "name=a&access=some": "scopes",
    "name=a&access=all&scope=chat": "scopes",
    "name=a&scope=chat": "scopes",
    "name=a&access=some&scope=unknown": "scopes",
    "name=a&models=gpt": "models",
    "name=a&models=fast+nobody/a": "models",
    "name=a&expires=on&expires_on=2026-11-20": "expires",
    "name=a&expires=on": "expires",
    "name=a&cap_day=-1": "cap_day",
    "name=a&cap_month=much": "cap_month",
    "name=a&cache_ttl=soon": "cache_ttl",
    [`name=a&models=${Array.from({ length: 201 }, (_, n) => `vendor-b/a${n}`).join("+")}`]:
      "models",
  };
  for (const [fields, field] of Object.entries(cases)) {
    const { wanted, fieldErrors } = read(fields);
    assert.deepEqual([wanted, Object.keys(fieldErrors)], [undefined, [field]], fields);
  }
});
