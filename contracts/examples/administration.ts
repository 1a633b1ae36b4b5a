import type { OperationExamples } from "./example.ts";

const at = "2026-11-21T09:00:00Z";

const virtualModel = {
  account_id: 1,
  name: "assistant",
  targets: [{ model: "gpt-5-mini", weight: 9 }, { model: "claude-sonnet-4-6", weight: 1 }],
  fallbacks: ["gemini-2.5-flash"],
  stick_by: "session",
  created_at: at,
  updated_at: at,
};

const newModel = {
  name: virtualModel.name,
  targets: virtualModel.targets,
  fallbacks: virtualModel.fallbacks,
  stick_by: virtualModel.stick_by,
};

const account = {
  id: 2,
  name: "team",
  tier: "enterprise",
  rpm: 3000,
  burst: 5000,
  created_at: at,
};

const keyId = "0197e0c2-a3f0-7c41-9d2e-6b1f4c8a7d35";

const key = {
  id: keyId,
  prefix: "dmt_3kTq9fPw",
  name: "ci",
  account_id: 1,
  scopes: ["chat", "status"],
  models: [],
  on_disconnect: "cancel",
  translation_mode: "default",
  prompt_cache: true,
  cache_ttl_seconds: null,
  record: "full",
  for: null,
  app: null,
  default_model: null,
  map: {},
  expected_output_tokens: null,
  created_at: at,
  expires_at: null,
  revoked_at: null,
  cap_day_usd: "2.500000000",
  cap_month_usd: null,
};

const vendorKey = {
  account_id: 1,
  vendor: "vendor-b",
  last_four: "wxyz",
  created_at: at,
  changed_at: at,
};

const credit = { account_id: 1, balance_usd: "35.000000000", reserved_usd: "0.000000000" };

const budget = {
  id: keyId,
  account_id: 1,
  on: "app:checkout",
  per: "month",
  limit_usd: "100.000000000",
  raise_until: null,
  raised_limit_usd: null,
  spent_usd: "12.500000000",
  created_at: at,
};

const webhook = {
  id: keyId,
  account_id: 1,
  url: "https://hooks.example.com/gateway",
  events: ["budget.reached", "credit.low"],
  credit_low_usd: "5.000000000",
  created_at: at,
  last_sent_at: at,
  last_failed_at: null,
  last_error: null,
  waiting: 0,
  lost: 0,
};

const price = {
  version: "8f1c2d3e4a5b",
  vendor: "vendor-b",
  model: "gpt-5-mini",
  price: { input: "0.25", output: "2" },
  source: "https://platform.openai.com/docs/pricing",
  checked_on: "2026-11-20",
};

export const administrationExamples: Readonly<Record<string, OperationExamples>> = {
  listAccounts: { answers: { page: { data: [account], next_cursor: null } } },
  createAccount: {
    requests: { plain: { name: "team" } },
    answers: { made: { ...account, tier: "free", rpm: 60, burst: 100 } },
  },
  getAccount: { params: { id: 2 }, answers: { found: account } },
  updateAccount: {
    params: { id: 2 },
    requests: {
      enterprise: { tier: "enterprise", rpm: 3000, burst: 5000 },
      pro: { tier: "pro" },
    },
    answers: { changed: account },
  },
  listApiKeys: { answers: { page: { data: [key], next_cursor: keyId } } },
  createApiKey: {
    requests: {
      plain: { name: "ci" },
      narrow: {
        name: "ci",
        scopes: ["chat", "status"],
        models: ["vendor-b/gpt-5-mini"],
        cap_day_usd: "2.50",
        account_id: 1,
      },
    },
    answers: {
      made: { ...key, key: "dmt_3kTq9fPw0000000000000000000000000000000000000000000" },
    },
  },
  getApiKey: { params: { id: keyId }, answers: { found: key } },
  updateApiKey: {
    params: { id: keyId },
    requests: { caps: { cap_day_usd: "5", cap_month_usd: null }, name: { name: "ci, night" } },
    answers: { changed: key },
  },
  revokeApiKey: { params: { id: keyId }, answers: { revoked: { id: keyId, revoked: true } } },
  showAccountCredit: { answers: { credit } },
  grantCredit: {
    requests: { plain: { usd: "25", note: "invoice 17" }, account: { usd: "2.50", account_id: 1 } },
    answers: { granted: { ...credit, granted_usd: "25.000000000" } },
  },
  deductCredit: {
    requests: { plain: { usd: "2.50", note: "invoice 17 was granted twice" } },
    answers: { deducted: { ...credit, deducted_usd: "2.500000000" } },
  },
  listCreditGrants: {
    answers: {
      page: {
        data: [{
          account_id: 1,
          kind: "grant",
          usd: "25.000000000",
          note: "invoice 17",
          transaction_id: null,
          created_at: at,
        }],
        next_cursor: null,
      },
    },
  },
  listVendorKeys: { answers: { list: { data: [vendorKey], next_cursor: null } } },
  setVendorKey: {
    requests: { openai: { vendor: "openai", value: "sk-0123456789abcdefwxyz" } },
    answers: { stored: vendorKey },
  },
  getVendorKey: { params: { vendor: "vendor-b" }, answers: { found: vendorKey } },
  deleteVendorKey: {
    params: { vendor: "vendor-b" },
    answers: { removed: { account_id: 1, vendor: "vendor-b", removed: true } },
  },
  listVirtualModels: { answers: { list: { data: [virtualModel], next_cursor: null } } },
  createVirtualModel: {
    requests: {
      weighted: newModel,
      plain: { name: "fast", targets: ["gpt-5-mini"], account_id: 1 },
    },
    answers: { made: virtualModel },
  },
  getVirtualModel: { params: { name: "assistant" }, answers: { found: virtualModel } },
  updateVirtualModel: {
    params: { name: "assistant" },
    requests: { weights: { targets: virtualModel.targets }, freely: { stick_by: null } },
    answers: { changed: virtualModel },
  },
  deleteVirtualModel: {
    params: { name: "assistant" },
    answers: { removed: { account_id: 1, name: "assistant", removed: true } },
  },
  listBudgets: { answers: { list: { data: [budget], next_cursor: null } } },
  setBudget: {
    requests: {
      app: { on: "app:checkout", per: "month", usd: "100" },
      raised: {
        on: "account",
        per: "day",
        usd: "50",
        raise_until: "2999-01-01T00:00:00Z",
        raised_usd: "80",
      },
    },
    answers: { set: budget },
  },
  getBudget: { params: { id: keyId }, answers: { found: budget } },
  updateBudget: {
    params: { id: keyId },
    requests: { limit: { usd: "120" } },
    answers: { changed: budget },
  },
  deleteBudget: { params: { id: keyId }, answers: { removed: { id: keyId, removed: true } } },
  listWebhooks: { answers: { list: { data: [webhook], next_cursor: null } } },
  addWebhook: {
    requests: {
      all: { url: webhook.url },
      some: {
        url: webhook.url,
        events: webhook.events,
        credit_low_usd: "5",
        account_id: 1,
      },
    },
    answers: {
      added: { id: keyId, secret: "whsec_c2VjcmV0IG9mIDMyIGJ5dGVzLCBvbmx5IGhlcmUuLi4=" },
    },
  },
  getWebhook: { params: { id: keyId }, answers: { found: webhook } },
  updateWebhook: {
    params: { id: keyId },
    requests: { events: { events: webhook.events, credit_low_usd: null } },
    answers: { changed: webhook },
  },
  deleteWebhook: { params: { id: keyId }, answers: { removed: { id: keyId, removed: true } } },
  testWebhook: { params: { id: keyId }, answers: { queued: { id: keyId, queued: true } } },
  listPrices: { answers: { list: { data: [price] } } },
  getPrice: {
    params: { version: price.version },
    answers: { found: { ...price, first_seen_at: at } },
  },
  checkPrices: {
    requests: { all: {}, recent: { since: "2026-11-01T00:00:00Z" } },
    answers: {
      checked: {
        checked_at: at,
        package: "@pydantic/genai-prices 0.1.8",
        summary: {
          ...{ vendors_listed: 1, vendors_unreachable: 0, models_without_price: 1 },
          ...{ models_at_fallback_price: 0, rows: 120, rows_compared: 96, rows_equal: 95 },
          ...{ differences: 0, explained_differences: 1 },
        },
        vendors: [{
          ...{ vendor: "vendor-b", state: "listed", models: 74, at_fallback_price: [] },
          without_price: [{ model: "gpt-next", public_price: null }],
        }],
        differences: [],
        explained_differences: [],
        vendor_reported_costs: [],
      },
    },
  },
  repriceCalls: {
    requests: { trial: { since: "2026-11-01T00:00:00Z", vendor: "openai" } },
    answers: {
      trial: { dry_run: true, models: [], total: { calls: 17, corrected: 0 } },
    },
  },
  listAuditEntries: {
    answers: {
      page: {
        data: [{
          at,
          actor: "API key 'terraform' (dmt_3kTq9fPw…)",
          action: "virtual_model.set",
          subject: "assistant",
          detail: "gpt-5-mini (9), claude-sonnet-4-6 (1), else gemini-2.5-flash",
          account_id: 1,
        }],
        next_cursor: "4711",
      },
    },
  },
};
