import assert from "@std/assert";
import { Form } from "../../form.ts";
import { readKeyChange, readNewKey } from "./read_new_key.ts";

const now = new Date("2026-11-21T12:00:00Z");

function read(fields: string) {
  const isModel = (name: string) => ["fast", "vendor-b/a", "vendor-f/b/c"].includes(name);
  return readNewKey(new Form(new URLSearchParams(fields)), ["chat", "status"], now, true, isModel);
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
    "name=a&access=some&scope=unknown": "scopes",
    "name=a&models=gpt": "models",
    "name=a&models=fast+nobody/a": "models",
    "name=a&expires=on&expires_on=2026-11-20": "expires",
    "name=a&expires=on": "expires",
    "name=a&cap_day=-1": "cap_day",
    "name=a&cap_month=much": "cap_month",
  };
  for (const [fields, field] of Object.entries(cases)) {
    const { wanted, fieldErrors } = read(fields);
    assert.deepEqual([wanted, Object.keys(fieldErrors)], [undefined, [field]], fields);
  }
});
