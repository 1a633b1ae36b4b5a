import { z } from "@hono/zod-openapi";
import { timestampSchema } from "../kernel/common.ts";
import { defineContract, ofAdministration } from "../kernel/contract.ts";

const priceFields = {
  version: z.string().describe("Version, as in `price_version` of records."),
  vendor: z.string().describe("Label of the vendor."),
  model: z.string().describe("Name of the model at the vendor."),
  price: z.looseObject({}).describe(
    "As `PRICES_FILE` writes it: USD per million tokens, or piece.",
  ),
  source: z.string().describe("Where it is defined."),
  checked_on: z.string().nullable().describe("Day on which it was checked; null: unknown."),
};

const price = z.strictObject(priceFields).openapi("Price");

const span = {
  since: timestampSchema.optional().describe("First moment. Default: the first call."),
  until: timestampSchema.optional().describe("Last moment, not included. Default: now."),
};

/** Prices, which are defined in the bundled table and in `PRICES_FILE`. */
export const adminPriceContracts = {
  listPrices: defineContract({
    ...ofAdministration("get", "/api/v1/admin/prices", "listPrices"),
    summary: "List prices",
    description: "From the bundled table, from `PRICES_FILE` and from vendors' lists.",
    query: z.strictObject({
      vendor: z.string().min(1).max(60).optional().describe(
        "Label or alias of a vendor. Default: all.",
      ),
    }),
    answer: z.strictObject({ data: z.array(price).describe("The prices, by vendor and model.") })
      .openapi("PriceList"),
  }),
  getPrice: defineContract({
    ...ofAdministration("get", "/api/v1/admin/prices/{version}", "getPrice"),
    summary: "Get a price version",
    description: "The price that `price_version` of a record names.",
    params: z.object({
      version: z.string().regex(/^[\w.:-]{1,100}$/, "expected a version")
        .describe("Version of the price."),
    }),
    answer: z.strictObject({
      ...priceFields,
      first_seen_at: timestampSchema.describe("When it was first seen, in a record or at a start."),
    }).openapi("PriceVersion"),
    errors: ["price_not_found"],
  }),
  checkPrices: defineContract({
    ...ofAdministration("post", "/api/v1/admin/prices/check", "checkPrices"),
    summary: "Find missing and differing prices",
    description:
      "Asks each vendor that has a key for its models, so it takes seconds. Compares the current prices with a third-party table, and costs that vendors reported with costs by our prices. Changes nothing.",
    body: z.strictObject({
      since: timestampSchema.optional().describe(
        "Reported costs of calls since then are compared. Default: 30 days ago.",
      ),
    }).openapi("PriceCheckRequest"),
    answer: z.strictObject({
      checked_at: timestampSchema.describe("When it was checked."),
      package: z.string().describe("The third-party price table."),
      summary: z.record(z.string(), z.number().int()).describe("Number of findings of each kind."),
      vendors: z.array(z.looseObject({
        vendor: z.string().describe("Label of the vendor."),
        state: z.enum(["listed", "not_configured", "unreachable"]).describe(
          "Whether its list of models was read.",
        ),
      })).describe("Models in each vendor's list that have no price."),
      differences: z.array(z.looseObject({})).describe("Prices that differ from the table's."),
      explained_differences: z.array(z.looseObject({})).describe("Known differences, and why."),
      vendor_reported_costs: z.array(z.looseObject({})).describe(
        "By vendor and model: reported cost and cost by our price.",
      ),
    }).openapi("PriceCheck"),
  }),
  repriceCalls: defineContract({
    ...ofAdministration("post", "/api/v1/admin/prices/reprice", "repriceCalls"),
    summary: "Reprice recorded calls",
    description:
      "Each at the price of its own time, by the current price files; costs and charges are corrected. Answers when done.",
    body: z.strictObject({
      dry_run: z.boolean().default(true).describe(
        "`true` only reports what would change. Default `true`.",
      ),
      ...span,
      vendor: z.string().min(1).max(60).optional().describe(
        "Calls of this vendor, by label or alias. Default: all.",
      ),
      model: z.string().min(1).max(300).optional().describe(
        "Calls of this model, such as `vendor-b/gpt-5-mini`. Default: all.",
      ),
      account_id: z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional().describe(
        "Only calls of this account. Default: all accounts.",
      ),
    }).openapi("RepriceRequest"),
    answer: z.looseObject({
      dry_run: z.boolean().describe("Whether nothing was written."),
      models: z.array(z.looseObject({})).describe("What changed, by vendor and model."),
      total: z.looseObject({}).describe("The sums."),
    }).openapi("Repriced"),
    errors: ["account_not_found"],
  }),
};
