import assert from "@std/assert";
import { budgetRows, priceRows } from "./administration_price_rows.ts";
import { noAccount, noKey, none, type Rows } from "./administration_row.ts";
import { webhookRows } from "./administration_webhook_rows.ts";
import * as sdk from "../../openapi/client/mod.ts";
import { systemClock } from "../../src/base/clock.ts";
import { looksLikeKey, mintKey } from "../../src/keys/credential.ts";

const model = { name: "assistant", targets: ["gpt-5-mini"] };
const weighted = [{ model: "gpt-4.1", weight: 9 }, { model: "claude-sonnet-4-6", weight: 1 }];
const path = { name: "assistant" };
const noModel = /no virtual model named 'nothing'/;
const nothing = { name: "nothing" };

/** Id of the key that the rows work on. */
let keyId = "";
const key = () => ({ id: keyId });
const secretKey = "sk-canary-0123456789-wxyz";

const accountRows = {
  createAccount: {
    call: (to) => sdk.createAccount({ ...to, body: { name: " partner " } }),
    answer: ({ data }: { data: sdk.Account }) => {
      const { created_at: _, ...rest } = data;
      assert.deepEqual(rest, { id: 3, name: "partner", tier: "free", rpm: 60, burst: 100 });
    },
    notes: [["account.created", "partner", 3]],
    wrong: [
      [
        "already_exists",
        /An account named 'partner' exists/,
        (to) => sdk.createAccount({ ...to, body: { name: "partner" } }),
      ],
      [
        "invalid_value",
        /^name: .*digits alone/,
        (to) => sdk.createAccount({ ...to, body: { name: "42" } }),
      ],
      [
        "invalid_value",
        /^name: expected at least 1/,
        (to) => sdk.createAccount({ ...to, body: { name: "  " } }),
      ],
    ],
  },
  listAccounts: {
    call: (to) => sdk.listAccounts({ ...to, query: { limit: 2 } }),
    answer: ({ data }: { data: sdk.AccountList }) => {
      assert.deepEqual(data.data.map(({ name }) => name), ["default", "team"]);
      assert.equal(data.next_cursor, "2");
    },
    wrong: [[
      "invalid_value",
      /^cursor: /,
      (to) => sdk.listAccounts({ ...to, query: { cursor: "-1" } }),
    ]],
  },
  getAccount: {
    call: (to) => sdk.getAccount({ ...to, path: { id: 3 } }),
    answer: ({ data }: { data: sdk.Account }) => assert.equal(data.name, "partner"),
    wrong: [[
      "account_not_found",
      /^id: no account has the id 4711/,
      (to) => sdk.getAccount({ ...to, path: { id: 4711 } }),
    ]],
  },
  updateAccount: {
    call: (to) =>
      sdk.updateAccount({
        ...to,
        path: { id: 3 },
        body: { tier: "enterprise", rpm: 5000, burst: 9000 },
      }),
    answer: ({ data }: { data: sdk.Account }) =>
      assert.deepEqual([data.tier, data.rpm, data.burst], ["enterprise", 5000, 9000]),
    notes: [["account.tier_changed", "enterprise", 3]],
    wrong: [
      [
        "invalid_value",
        /^rpm: the limits of pro are fixed/,
        (to) => sdk.updateAccount({ ...to, path: { id: 3 }, body: { tier: "pro", rpm: 1 } }),
      ],
      [
        "missing_required_field",
        /^rpm: required; /,
        (to) =>
          sdk.updateAccount({ ...to, path: { id: 2 }, body: { tier: "enterprise", burst: 1 } }),
      ],
      [
        "account_not_found",
        /^id: /,
        (to) => sdk.updateAccount({ ...to, path: { id: 4711 }, body: { tier: "pro" } }),
      ],
    ],
  },
  grantCredit: {
    call: (to) =>
      sdk.grantCredit({ ...to, body: { usd: "2.50", account_id: 3, note: "invoice 17" } }),
    answer: ({ data }: { data: sdk.GrantedCredit }) =>
      assert.deepEqual(data, {
        account_id: 3,
        balance_usd: "2.500000000",
        reserved_usd: "0.000000000",
        granted_usd: "2.500000000",
      }),
    notes: [["credit.granted", "2.500000000 USD", 3]],
    wrong: [
      [
        "invalid_value",
        /^usd: expected an amount above 0/,
        (to) => sdk.grantCredit({ ...to, body: { usd: "0" } }),
      ],
      [
        "invalid_value",
        /^usd: expected an amount in US dollars/,
        (to) => sdk.grantCredit({ ...to, body: { usd: "1e3" } }),
      ],
      [
        "account_not_found",
        noAccount,
        (to) => sdk.grantCredit({ ...to, body: { usd: "1", ...none } }),
      ],
    ],
  },
  listGrants: {
    call: (to) => sdk.listCreditGrants({ ...to, query: { account_id: 3 } }),
    answer: ({ data }: { data: sdk.CreditGrantList }) => {
      assert.deepEqual(data.data.map(({ usd, note }) => [usd, note]), [[
        "2.500000000",
        "invoice 17",
      ]]);
      assert.equal(data.next_cursor, null);
    },
    wrong: [["account_not_found", noAccount, (to) => sdk.listCreditGrants({ ...to, query: none })]],
  },
  showCredit: {
    call: (to) => sdk.showAccountCredit({ ...to, query: { account_id: 3 } }),
    answer: ({ data }: { data: sdk.AccountCredit }) =>
      assert.equal(data.balance_usd, "2.500000000"),
    wrong: [[
      "account_not_found",
      noAccount,
      (to) => sdk.showAccountCredit({ ...to, query: none }),
    ]],
  },
  deductCredit: {
    call: (to) =>
      sdk.deductCredit({ ...to, body: { usd: "4", account_id: 3, note: "typed 2.50 twice" } }),
    answer: ({ data }: { data: sdk.DeductedCredit }) =>
      assert.deepEqual(data, {
        account_id: 3,
        balance_usd: "-1.500000000",
        reserved_usd: "0.000000000",
        deducted_usd: "4.000000000",
      }),
    notes: [["credit.deducted", "4.000000000 USD", 3]],
    wrong: [
      [
        "invalid_value",
        /^usd: expected an amount above 0/,
        (to) => sdk.deductCredit({ ...to, body: { usd: "0" } }),
      ],
      [
        "invalid_value",
        /^usd: expected an amount in US dollars/,
        (to) => sdk.deductCredit({ ...to, body: { usd: "1e3" } }),
      ],
      [
        "account_not_found",
        noAccount,
        (to) => sdk.deductCredit({ ...to, body: { usd: "1", ...none } }),
      ],
    ],
  },
} satisfies Partial<Rows>;

const keyRows = {
  createKey: {
    call: (to) =>
      sdk.createApiKey({
        ...to,
        body: {
          // A vendor's scope has all names of the vendor.
          ...{ name: "ci", scopes: ["status", "openai"], models: ["vendor-b/gpt-4.1"] },
          ...{ cap_day_usd: "2.50", expires: "2999-01-31T00:00:00+01:00", cache_ttl: 60 },
          ...{ on_disconnect: "drain", translation_mode: "strict", prompt_cache: false },
          ...{ record: "metadata", for: "codex", default_model: "gpt-4.1" },
          ...{ map: { "gpt-5-codex": "vendor-b/gpt-5-mini" } },
        },
      }),
    answer: ({ data }: { data: sdk.CreatedApiKey }) => {
      const { id, key, prefix, created_at: _, ...rest } = data;
      keyId = id;
      assert.ok(looksLikeKey(key) && key.startsWith(prefix));
      assert.deepEqual(rest, {
        ...{ name: "ci", account_id: 1, scopes: ["status", "vendor-b"] },
        ...{ models: ["vendor-b/gpt-4.1"], on_disconnect: "drain", translation_mode: "strict" },
        ...{ prompt_cache: false, cache_ttl_seconds: 60, revoked_at: null },
        ...{ record: "metadata", for: "codex", app: "codex", default_model: "gpt-4.1" },
        ...{ map: { "gpt-5-codex": "vendor-b/gpt-5-mini" } },
        expected_output_tokens: null,
        ...{ expires_at: "2999-01-30T23:00:00.000Z" },
        ...{ cap_day_usd: "2.500000000", cap_month_usd: null },
      });
    },
    notes: [["api_key.created", "ci"]],
    wrong: [
      [
        "missing_required_field",
        /^name: /,
        (to) => sdk.createApiKey({ ...to, body: {} as { name: string } }),
      ],
      [
        "invalid_value",
        /^scopes\[1\]: expected one of chat, .*openai \(vendor-b\).*Did you mean 'anthropic'\?$/,
        (to) => sdk.createApiKey({ ...to, body: { name: "x", scopes: ["status", "antropic"] } }),
      ],
      [
        "invalid_value",
        /^scopes: only keys of the first account/,
        (to) => sdk.createApiKey({ ...to, body: { name: "x", scopes: ["admin"], account_id: 2 } }),
      ],
      [
        "invalid_value",
        /^models\[1\]: no model has the name 'nothing'/,
        (to) => sdk.createApiKey({ ...to, body: { name: "x", models: ["gpt-4.1", "nothing"] } }),
      ],
      [
        "invalid_value",
        /^default_model: no model has the name 'nothing'/,
        (to) => sdk.createApiKey({ ...to, body: { name: "x", default_model: "nothing" } }),
      ],
      [
        "invalid_value",
        /^expires: expected a time in the future/,
        (to) => sdk.createApiKey({ ...to, body: { name: "x", expires: "2020-01-01T00:00:00Z" } }),
      ],
      [
        "invalid_value",
        /^cap_day_usd: /,
        (to) => sdk.createApiKey({ ...to, body: { name: "x", cap_day_usd: "-1" } }),
      ],
      [
        "invalid_value",
        /^colour: unknown field/,
        (to) => sdk.createApiKey({ ...to, body: { name: "x", colour: "red" } as { name: string } }),
      ],
      [
        "account_not_found",
        noAccount,
        (to) => sdk.createApiKey({ ...to, body: { name: "x", ...none } }),
      ],
    ],
  },
  listKeys: {
    call: (to) => sdk.listApiKeys({ ...to, query: { account_id: 1 } }),
    answer: ({ data }: { data: sdk.ApiKeyList }) => {
      assert.deepEqual(data.data.map(({ name }) => name).sort(), [
        ...["admin+status of 1", "all of 1", "ci", "status+data:delete of 1"],
      ]);
      assert.ok(!/"(key|hash)"|dmt_\w{20}/.test(JSON.stringify(data)), "no value, no hash");
    },
    wrong: [
      ["invalid_value", /^cursor: /, (to) => sdk.listApiKeys({ ...to, query: { cursor: "x" } })],
      ["account_not_found", noAccount, (to) => sdk.listApiKeys({ ...to, query: none })],
    ],
  },
  getKey: {
    call: (to) => sdk.getApiKey({ ...to, path: key() }),
    answer: ({ data }: { data: sdk.ApiKey }) => {
      assert.equal(data.name, "ci");
      assert.ok(!("key" in data));
    },
    wrong: [
      [
        "api_key_not_found",
        /No key has the id 0197/,
        (to) => sdk.getApiKey({ ...to, path: noKey }),
      ],
      ["invalid_value", /^id: /, (to) => sdk.getApiKey({ ...to, path: { id: "x" } })],
    ],
  },
  updateKey: {
    call: (to) =>
      sdk.updateApiKey({
        ...to,
        path: key(),
        body: { name: "ci, night", cap_day_usd: null, cap_month_usd: "9" },
      }),
    answer: ({ data }: { data: sdk.ApiKey }) =>
      assert.deepEqual(
        [data.name, data.cap_day_usd, data.cap_month_usd, data.scopes],
        ["ci, night", null, "9.000000000", ["status", "vendor-b"]],
      ),
    notes: [["api_key.changed", "ci, night"]],
    wrong: [
      [
        "api_key_not_found",
        /No key has the id/,
        (to) => sdk.updateApiKey({ ...to, path: noKey, body: { name: "x" } }),
      ],
      [
        "invalid_value",
        /^cap_month_usd: /,
        (to) => sdk.updateApiKey({ ...to, path: key(), body: { cap_month_usd: "much" } }),
      ],
    ],
  },
  revokeKey: {
    call: (to) => sdk.revokeApiKey({ ...to, path: key() }),
    answer: ({ data }: { data: sdk.RevokedApiKey }) =>
      assert.deepEqual(data, { id: keyId, revoked: true }),
    notes: [["api_key.revoked", "ci, night"]],
    wrong: [[
      "api_key_not_found",
      /No key has the id/,
      (to) => sdk.revokeApiKey({ ...to, path: noKey }),
    ]],
  },
  setVendorKey: {
    call: (to) =>
      sdk.setVendorKey({ ...to, body: { vendor: "openai", value: secretKey, account_id: 2 } }),
    answer: ({ data }: { data: sdk.VendorKey }) => {
      assert.deepEqual([data.account_id, data.vendor, data.last_four], [2, "vendor-b", "wxyz"]);
      assert.ok(!JSON.stringify(data).includes("canary"));
    },
    notes: [["vendor_key.set", "vendor-b", 2]],
    wrong: [
      [
        "invalid_value",
        /^vendor: keys of vendor-g can't be stored/,
        (to) => sdk.setVendorKey({ ...to, body: { vendor: "xai", value: secretKey } }),
      ],
      [
        "invalid_value",
        /^vendor: expected one of .*\. Did you mean 'openai'\?$/,
        (to) => sdk.setVendorKey({ ...to, body: { vendor: "opnai", value: secretKey } }),
      ],
      [
        "invalid_value",
        /^value: a vendor key has at most 4096/,
        (to) => sdk.setVendorKey({ ...to, body: { vendor: "openai", value: "two words" } }),
      ],
      ["invalid_value", /^value: this is a key of this service/, (to) =>
        sdk.setVendorKey({
          ...to,
          body: { vendor: "openai", value: mintKey(systemClock).value.reveal() },
        })],
    ],
  },
  listVendorKeys: {
    call: (to) => sdk.listVendorKeys(to),
    answer: ({ data }: { data: sdk.VendorKeyList }) =>
      assert.deepEqual(data.data.map((one) => [one.account_id, one.vendor]), [[2, "vendor-b"]]),
    wrong: [["account_not_found", noAccount, (to) => sdk.listVendorKeys({ ...to, query: none })]],
  },
  getVendorKey: {
    call: (to) => sdk.getVendorKey({ ...to, path: { vendor: "openai" }, query: { account_id: 2 } }),
    answer: ({ data }: { data: sdk.VendorKey }) => assert.equal(data.last_four, "wxyz"),
    wrong: [
      [
        "vendor_key_not_found",
        /'default' has no key of vendor-b/,
        (to) => sdk.getVendorKey({ ...to, path: { vendor: "vendor-b" } }),
      ],
      [
        "invalid_value",
        /^vendor: expected one of/,
        (to) => sdk.getVendorKey({ ...to, path: { vendor: "nobody" } }),
      ],
    ],
  },
  deleteVendorKey: {
    call: (to) =>
      sdk.deleteVendorKey({ ...to, path: { vendor: "vendor-b" }, query: { account_id: 2 } }),
    answer: ({ data }: { data: sdk.RemovedVendorKey }) =>
      assert.deepEqual(data, { account_id: 2, vendor: "vendor-b", removed: true }),
    notes: [["vendor_key.removed", "vendor-b", 2]],
    wrong: [[
      "vendor_key_not_found",
      /'team' has no key of vendor-b/,
      (to) => sdk.deleteVendorKey({ ...to, path: { vendor: "openai" }, query: { account_id: 2 } }),
    ]],
  },
} satisfies Partial<Rows>;

const modelRows = {
  createModel: {
    call: (to) => sdk.createVirtualModel({ ...to, body: model }),
    answer: ({ data }: { data: sdk.VirtualModel }) => {
      assert.deepEqual([data.account_id, data.name], [1, "assistant"]);
      assert.deepEqual(data.targets, [{ model: "gpt-5-mini", weight: 1 }]);
    },
    notes: [["virtual_model.set", "assistant"]],
    wrong: [
      ["already_exists", /^name: /, (to) => sdk.createVirtualModel({ ...to, body: model })],
      [
        "invalid_value",
        /^name: expected letters/,
        (to) => sdk.createVirtualModel({ ...to, body: { ...model, name: "a/b" } }),
      ],
      [
        "invalid_value",
        /^targets\[1\]\.model: /,
        (to) =>
          sdk.createVirtualModel({
            ...to,
            body: { name: "wrong", targets: ["gpt-4.1", "no-such-model"] },
          }),
      ],
      [
        "missing_required_field",
        /^targets: /,
        (to) => sdk.createVirtualModel({ ...to, body: { name: "wrong" } as typeof model }),
      ],
      [
        "account_not_found",
        noAccount,
        (to) => sdk.createVirtualModel({ ...to, body: { ...model, name: "far", ...none } }),
      ],
    ],
  },
  listModels: {
    call: (to) => sdk.listVirtualModels(to),
    answer: ({ data }: { data: sdk.VirtualModelList }) =>
      assert.deepEqual(data.data.map(({ name }) => name), ["assistant"]),
    wrong: [[
      "account_not_found",
      noAccount,
      (to) => sdk.listVirtualModels({ ...to, query: none }),
    ]],
  },
  getModel: {
    call: (to) => sdk.getVirtualModel({ ...to, path }),
    answer: ({ data }: { data: sdk.VirtualModel }) => assert.equal(data.name, "assistant"),
    wrong: [
      ["model_not_found", noModel, (to) => sdk.getVirtualModel({ ...to, path: nothing })],
      [
        "model_not_found",
        /named 'assistant'/,
        (to) => sdk.getVirtualModel({ ...to, path, query: { account_id: 2 } }),
      ],
    ],
  },
  updateModel: {
    call: (to) =>
      sdk.updateVirtualModel({ ...to, path, body: { targets: weighted, stick_by: "session" } }),
    answer: ({ data }: { data: sdk.VirtualModel }) => {
      assert.deepEqual([data.targets, data.fallbacks, data.stick_by], [weighted, [], "session"]);
    },
    notes: [["virtual_model.set", "assistant"]],
    wrong: [
      [
        "model_not_found",
        noModel,
        (to) => sdk.updateVirtualModel({ ...to, path: nothing, body: { targets: weighted } }),
      ],
      [
        "invalid_value",
        /^fallbacks\[0\]: 'gpt-4\.1' is targets/,
        (to) => sdk.updateVirtualModel({ ...to, path, body: { fallbacks: ["gpt-4.1"] } }),
      ],
    ],
  },
  deleteModel: {
    call: (to) => sdk.deleteVirtualModel({ ...to, path }),
    answer: ({ data }: { data: sdk.RemovedVirtualModel }) =>
      assert.deepEqual(data, { account_id: 1, name: "assistant", removed: true }),
    notes: [["virtual_model.removed", "assistant"]],
    wrong: [[
      "model_not_found",
      /named 'assistant'/,
      (to) => sdk.deleteVirtualModel({ ...to, path }),
    ]],
  },
} satisfies Partial<Rows>;

/** A row for each operation, in an order in which they work. */
export const rows: Rows = {
  ...accountRows,
  ...keyRows,
  ...modelRows,
  ...budgetRows,
  ...webhookRows,
  ...priceRows,
  listAudit: {
    call: (to) => sdk.listAuditEntries({ ...to, query: { limit: 1 } }),
    answer: ({ data }: { data: sdk.AuditEntryList }) => {
      assert.deepEqual(Object.keys(data.data[0]!), [
        ...["at", "actor", "action", "subject", "detail", "account_id"],
      ]);
      assert.ok(data.next_cursor);
    },
    wrong: [
      [
        "invalid_value",
        /^cursor: /,
        (to) => sdk.listAuditEntries({ ...to, query: { cursor: "x" } }),
      ],
      ["invalid_value", /^limit: /, (to) => sdk.listAuditEntries({ ...to, query: { limit: 0 } })],
      ["account_not_found", noAccount, (to) => sdk.listAuditEntries({ ...to, query: none })],
    ],
  },
};
