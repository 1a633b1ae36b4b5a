import { z } from "@hono/zod-openapi";
import { dayOrTimeSchema, usdSchema, wholeNumber } from "../kernel/common.ts";
import { defineContract, ofRecords } from "../kernel/contract.ts";

export const usageGroups = [
  "model",
  "vendor",
  "app",
  "flow",
  "user",
  "api_key",
  "cohort",
  "day",
] as const;

export type UsageGroup = typeof usageGroups[number];

/** The most groups of one answer. */
const maxUsageGroups = 10_000;

const whole = (about: string) => z.number().int().describe(about);

/** The sums of a group, in the order of a CSV file's columns. */
const sumShape = {
  calls: whole("How many calls."),
  failed: whole("How many of them ended in an error: failed, truncated or interrupted."),
  input_tokens: whole("Tokens of whole prompts, cached parts included."),
  output_tokens: whole("Tokens of answers, reasoning included."),
  cost_usd: usdSchema.describe(
    "Cost of the calls in US dollars, including those with your own vendor keys.",
  ),
  charged_usd: usdSchema.describe("Amount charged to the balance, in US dollars."),
};

const group = (about: string) => z.string().nullable().optional().describe(about);

const usageRow = z.strictObject({
  model: group("`<vendor>/<model>`, as sent to the vendor; a name beyond 256 characters is cut."),
  vendor: group("Label of the vendor."),
  app: group("Prompt tag `/// APP`; null: without one."),
  flow: group("Prompt tag `/// FLOW`; null: without one."),
  user: group("The end user that the caller named; null: none."),
  api_key: group("Id of the service key."),
  cohort: group("Prompt tag `/// COHORT`; null: without one."),
  day: group("Day of UTC on which the calls arrived, `YYYY-MM-DD`."),
  ...sumShape,
  erased: z.boolean().describe(
    "True for calls whose records were erased: their sums stay, their labels don't.",
  ),
}).openapi("UsageRow");

const usageAnswer = z.strictObject({
  data: z.array(usageRow).describe(
    "The most expensive groups; ordered by day if grouped by `day`.",
  ),
  total: z.strictObject(sumShape).openapi("UsageTotal").describe(
    "Sums of all groups, those beyond `limit` included.",
  ),
  omitted: whole("How many groups there are beyond `limit`."),
}).openapi("UsageReport");

const groupPattern = new RegExp(
  `^(${usageGroups.join("|")})(,(${usageGroups.join("|")})){0,${usageGroups.length - 1}}$`,
);

export const getUsage = defineContract({
  ...ofRecords("interactions", "get", "/api/v1/usage", "getUsage"),
  summary: "Get usage, cost and spend",
  description:
    "What the account's calls used, cost and were charged, by one or several of model, vendor, app, flow, user, API key, cohort and day. A call counts on the day on which it arrived, in the cohort that its tag names, or in none (null). The sums are exact and agree with the ledger: erased calls stay in them, as rows of their own (`erased`) where their labels are gone. As CSV with `Accept: text/csv`: all groups, unless `limit` is given. Sums by model, vendor, app, key or day take milliseconds; by flow, user, cohort, or several labels, the calls themselves are read.",
  headers: z.object({
    "Accept": z.string().optional().describe(
      "`text/csv`: a file for a spreadsheet. Default: JSON.",
    ),
  }),
  query: z.strictObject({
    start_date: dayOrTimeSchema.optional().describe(
      "First day, UTC, or first hour; included. Default: from the beginning.",
    ),
    end_date: dayOrTimeSchema.optional().describe(
      "Last day, UTC, included; or the first hour not included. Default: now.",
    ),
    group_by: z.string().regex(
      groupPattern,
      `expected one of ${usageGroups.join(", ")}, or several separated by commas`,
    ).openapi({ example: "model,day" }).optional().describe(
      `One of ${
        usageGroups.map((name) => `\`${name}\``).join(", ")
      }, or several separated by commas. Default: one row with the sums of all.`,
    ),
    limit: wholeNumber({ minimum: 1, maximum: maxUsageGroups, default: 1000 }).optional().describe(
      "Maximum number of groups, most expensive first. Default 1,000.",
    ),
  }),
  answer: usageAnswer,
  media: { "text/csv": z.string() },
});

export const getCredits = defineContract({
  ...ofRecords("credits", "get", "/api/v1/credits", "getCredits"),
  summary: "Get the credit balance",
  answer: z.strictObject({
    balance_usd: usdSchema.describe("Grants minus charges, in US dollars; can be below zero."),
    reserved_usd: usdSchema.describe(
      "Reserved for calls in flight, in US dollars; part of the balance.",
    ),
    charged_today_usd: usdSchema.describe("Charged for calls of this day, UTC, in US dollars."),
    charged_month_usd: usdSchema.describe("Charged for calls of this month, UTC, in US dollars."),
  }).openapi("Credits"),
});
