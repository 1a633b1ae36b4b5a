import assert from "@std/assert";
import { changeText, grantText } from "./key_audit.ts";

const limits = { capDayNanos: 2_500_000_000n, capMonthNanos: null };

Deno.test("the entry for a new key says what it may do, and its limits", () => {
  const key = {
    ...{ prefix: "dmt_1234", scopes: ["chat", "data:delete"], models: ["vendor-b/gpt-4.1"] },
    ...{ ...limits, expiresAt: new Date("2026-12-31T00:00:00Z"), recording: "metadata" as const },
    defaults: { expectedOutputTokens: 8000 },
  };
  assert.equal(
    grantText(key),
    "dmt_1234…; scopes: chat, data:delete; models: vendor-b/gpt-4.1; cap a day: 2.500000000 USD; cap a month: none; ends: 2026-12-31T00:00:00.000Z; expected output tokens: 8000; records: metadata",
  );
  const models = Array.from({ length: 22 }, (_, index) => `m${index}`);
  assert.match(
    grantText({ prefix: "dmt_1234", scopes: [], models, ...limits, expiresAt: null }),
    /; scopes: all but admin; models: m0, .*, m19 and 2 more; .*; ends: never$/,
  );
});

Deno.test("the entry for a changed key has the old value of all that changed, and nothing else", () => {
  const key = { prefix: "dmt_1234", name: "ci", ...limits };
  assert.equal(
    changeText(key, { ...key, name: "night", capDayNanos: null, capMonthNanos: 0n }),
    "dmt_1234…; cap a day: none, was 2.500000000 USD; cap a month: 0.000000000 USD, was none; name was: ci",
  );
  assert.equal(changeText(key, key), "dmt_1234…");
});
