import assert from "@std/assert";
import * as sdk from "../../openapi/client/mod.ts";
import { noAccount, noKey, none, type Rows } from "./administration_row.ts";

let budgetId = "";
const budget = () => ({ id: budgetId });

export const budgetRows = {
  setBudget: {
    call: (to) =>
      sdk.setBudget({ ...to, body: { on: "app:shop", per: "month", usd: "9.50", account_id: 2 } }),
    answer: ({ data }: { data: sdk.Budget }) => {
      budgetId = data.id;
      assert.deepEqual(
        [data.account_id, data.on, data.per, data.limit_usd, data.raise_until, data.spent_usd],
        [2, "app:shop", "month", "9.500000000", null, "0.000000000"],
      );
    },
    notes: [["budget.set", /^[0-9a-f-]{36}$/, 2]],
    wrong: [
      [
        "invalid_value",
        /^on: 'shop' is not valid/,
        (to) => sdk.setBudget({ ...to, body: { on: "shop", per: "day", usd: "1" } }),
      ],
      ["invalid_value", /^raise_until: expected a time in the future/, (to) =>
        sdk.setBudget({
          ...to,
          body: {
            ...{ on: "account", per: "day", usd: "1" },
            ...{ raise_until: "2020-01-01T00:00:00Z", raised_usd: "2" },
          },
        })],
      ["missing_required_field", /^raised_usd: required; /, (to) =>
        sdk.setBudget({
          ...to,
          body: { on: "account", per: "day", raise_until: "2999-01-01T00:00:00Z" },
        })],
      ["missing_required_field", /^usd: required; /, (to) =>
        sdk.setBudget({
          ...to,
          body: {
            ...{ on: "account", per: "day", raised_usd: "2" },
            raise_until: "2999-01-01T00:00:00Z",
          },
        })],
      [
        "account_not_found",
        noAccount,
        (to) => sdk.setBudget({ ...to, body: { on: "account", per: "day", usd: "1", ...none } }),
      ],
    ],
  },
  listBudgets: {
    call: (to) => sdk.listBudgets({ ...to, query: { account_id: 2 } }),
    answer: ({ data }: { data: sdk.BudgetList }) =>
      assert.deepEqual(data.data.map(({ id }) => id), [budgetId]),
    wrong: [["account_not_found", noAccount, (to) => sdk.listBudgets({ ...to, query: none })]],
  },
  getBudget: {
    call: (to) => sdk.getBudget({ ...to, path: budget() }),
    answer: ({ data }: { data: sdk.Budget }) => assert.equal(data.on, "app:shop"),
    wrong: [[
      "budget_not_found",
      /No budget has the id/,
      (to) => sdk.getBudget({ ...to, path: noKey }),
    ]],
  },
  updateBudget: {
    call: (to) =>
      sdk.updateBudget({
        ...to,
        path: budget(),
        // As the command's `--raise-until T --usd 20`.
        body: { raise_until: "2999-01-01T00:00:00Z", usd: "20" },
      }),
    answer: ({ data }: { data: sdk.Budget }) =>
      assert.deepEqual([data.id, data.limit_usd, data.raised_limit_usd], [
        budgetId,
        "9.500000000",
        "20.000000000",
      ]),
    notes: [["budget.set", /^[0-9a-f-]{36}$/, 2]],
    wrong: [
      [
        "budget_not_found",
        /No budget has the id/,
        (to) => sdk.updateBudget({ ...to, path: noKey, body: { usd: "1" } }),
      ],
      [
        "invalid_value",
        /^usd: expected an amount/,
        (to) => sdk.updateBudget({ ...to, path: budget(), body: { usd: "much" } }),
      ],
    ],
  },
  deleteBudget: {
    call: (to) => sdk.deleteBudget({ ...to, path: budget() }),
    answer: ({ data }: { data: sdk.RemovedBudget }) =>
      assert.deepEqual(data, { id: budgetId, removed: true }),
    notes: [["budget.removed", /^[0-9a-f-]{36}$/, 2]],
    wrong: [[
      "budget_not_found",
      /No budget has the id/,
      (to) => sdk.deleteBudget({ ...to, path: budget() }),
    ]],
  },
} satisfies Partial<Rows>;

let priceVersion = "";

export const priceRows = {
  listPrices: {
    call: (to) => sdk.listPrices({ ...to, query: { vendor: "openai" } }),
    answer: ({ data }: { data: sdk.PriceList }) => {
      const found = data.data.find(({ model }) => model === "gpt-5-mini")!;
      assert.deepEqual([found.vendor, typeof found.price.input], ["vendor-b", "string"]);
      priceVersion = found.version;
    },
    wrong: [[
      "invalid_value",
      /^vendor: expected one of/,
      (to) => sdk.listPrices({ ...to, query: { vendor: "nobody" } }),
    ]],
  },
  getPrice: {
    call: (to) => sdk.getPrice({ ...to, path: { version: priceVersion } }),
    answer: ({ data }: { data: sdk.PriceVersion }) => assert.equal(data.model, "gpt-5-mini"),
    wrong: [[
      "price_not_found",
      /No price has the version 'none'/,
      (to) => sdk.getPrice({ ...to, path: { version: "none" } }),
    ]],
  },
  checkPrices: {
    call: (to) => sdk.checkPrices({ ...to, body: { since: "2026-11-01T00:00:00Z" } }),
    answer: ({ data }: { data: sdk.PriceCheck }) => {
      assert.match(data.package, /genai-prices/);
      assert.equal(data.summary.vendors_unreachable, 0);
      assert.ok(data.summary.rows_compared! > 50 && data.vendors.length > 5);
      const asked = data.vendors.filter(({ state }) => state === "listed");
      assert.equal(asked.length, data.summary.vendors_listed);
    },
    wrong: [[
      "invalid_value",
      /^since: /,
      (to) => sdk.checkPrices({ ...to, body: { since: "yesterday" } }),
    ]],
  },
  repriceCalls: {
    call: (to) => sdk.repriceCalls({ ...to, body: { dry_run: false, vendor: "xai" } }),
    answer: ({ data }: { data: sdk.Repriced }) =>
      assert.deepEqual([data.dry_run, data.models, data.total.calls], [false, [], 0]),
    notes: [["calls.repriced", "0 of 0 calls"]],
    wrong: [
      [
        "invalid_value",
        /^vendor: expected one of/,
        (to) => sdk.repriceCalls({ ...to, body: { vendor: "nobody" } }),
      ],
      ["invalid_value", /^until: expected a time after since\.$/, (to) =>
        sdk.repriceCalls({
          ...to,
          body: { since: "2026-02-01T00:00:00Z", until: "2026-01-01T00:00:00Z" },
        })],
      ["account_not_found", noAccount, (to) => sdk.repriceCalls({ ...to, body: none })],
    ],
  },
} satisfies Partial<Rows>;
