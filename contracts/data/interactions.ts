import { z } from "@hono/zod-openapi";
import {
  dayOrTimeSchema,
  lowerCaseUuid,
  orNull,
  usdSchema,
  wholeNumber,
} from "../kernel/common.ts";
import { defineContract, ofRecords } from "../kernel/contract.ts";
import { filterColumns } from "./export_filters.ts";
import { type ColumnKind, columnKinds, interactionRecord } from "./export_tables.ts";

/** The most values of one filter; a URL has no room for more. */
const maxValues = 500;

/** Columns by which the list can be filtered, as exports can; the account is always the key's. */
export const listFilters = filterColumns("interactions");

const { request: _request, response: _response, ...summaryShape } = interactionRecord.shape;

/** A call without its payloads. */
const interactionSummary = z.strictObject(summaryShape).openapi("InteractionSummary");

const costLine = z.strictObject({
  dimension: z.string().describe(
    "What is charged for, as named in a price row, such as `input`, `cache_read`, `output` or `per_image`. `vendor_cost`: what the vendor reports it charged. `set_aside`: the reserved amount, for a disputed report. `recorded`: the recorded cost, if its parts are no longer known.",
  ),
  quantity: z.number().describe("How many tokens, characters, minutes, images or pieces."),
  unit_price_usd: z.string().regex(/^\d{1,9}\.\d{12}$/).openapi({ example: "0.000000250000" })
    .describe("US dollars per unit, with twelve decimals; includes the service tier."),
  cost_usd: usdSchema.describe("What the line costs; lines add up to the call's `cost_usd`."),
}).openapi("CostLine");

const interactionDetail = z.strictObject({
  ...interactionRecord.shape,
  lines: z.array(costLine).describe(
    "Lines that make up the cost; empty if it is 0 or no price is known.",
  ),
}).openapi("InteractionDetail");

function filterShape(): Record<string, z.ZodType> {
  const columns: Readonly<Record<string, z.ZodType>> = interactionRecord.shape;
  return Object.fromEntries(listFilters.map((name) => {
    const kind = columnKinds.interactions[name as keyof typeof columnKinds.interactions];
    const about = columns[name]!.description ?? name;
    return [
      name,
      z.array(valueOf(columns[name]!, kind)).min(1).max(maxValues).optional()
        .describe(`${about} Several: any of them.`),
    ];
  }));
}

function valueOf(column: z.ZodType, kind: ColumnKind): z.ZodType {
  const inner = column instanceof z.ZodNullable ? column.unwrap() as z.ZodType : column;
  if (inner instanceof z.ZodEnum) return inner;
  switch (kind) {
    case "number":
      return wholeNumber();
    case "boolean":
      return z.enum(["true", "false"]).transform((text) => text === "true")
        .openapi({ type: "boolean" });
    case "usd":
      return z.string().regex(
        /^-?\d{1,9}(\.\d{1,9})?$/,
        "expected an amount in US dollars such as 0.000054399",
      );
    case "timestamp":
      return inner;
    default:
      return z.string();
  }
}

const listQuery = z.strictObject({
  start_date: dayOrTimeSchema.optional().describe(
    "First day, UTC, or first moment; included. Default: from the beginning.",
  ),
  end_date: dayOrTimeSchema.optional().describe(
    "Last day, UTC, included; or last moment, not included. Default: now.",
  ),
  q: z.string().trim().min(1).max(500).optional().describe(
    '1 to 12 words that request or answer must all contain; a `"quoted phrase"` must match exactly, and may be longer.',
  ),
  limit: wholeNumber({ minimum: 1, maximum: 1000, default: 50 }).optional().describe(
    "Maximum calls per page. Default 50.",
  ),
  cursor: z.string().min(1).max(500).optional().describe(
    "`next_cursor` of the previous page, with the same filters. Default: the newest calls.",
  ),
  ...filterShape(),
}, {
  error: (issue) =>
    issue.code === "unrecognized_keys"
      ? `expected start_date, end_date, q, limit, cursor or one of ${listFilters.join(", ")}`
      : undefined,
});

export const listInteractions = defineContract({
  ...ofRecords("interactions", "get", "/api/v1/interactions", "listInteractions"),
  summary: "List calls, newest first",
  description:
    "Cost, usage and labels of recorded calls, without prompts and answers. Every scalar column is a filter: repeat a filter to match any of several values; a call must match all filters. Page with `next_cursor`: new calls do not change later pages. A page may be short or even empty although `next_cursor` says that there are more: with a text search (`q`), and where few of very many calls match several filters, or one without an index, such as `error_code`.",
  query: listQuery,
  answer: z.strictObject({
    data: z.array(interactionSummary).describe("The calls of the page, newest first."),
    next_cursor: orNull(z.string()).describe("`cursor` of the next page; null on the last one."),
  }).openapi("InteractionList"),
});

export const getInteraction = defineContract({
  ...ofRecords("interactions", "get", "/api/v1/interactions/{transaction_id}", "getInteraction"),
  summary: "Get a call and its cost",
  description:
    "The whole record, request and answer included, and the lines that make up its cost, as soon as the call has ended: a stream's cost is here right after its last byte.",
  params: z.object({
    transaction_id: z.string().min(1).max(256).overwrite(lowerCaseUuid).describe(
      "Id of the call, as in `X-Transaction-ID`.",
    ),
  }),
  answer: interactionDetail,
  errors: ["interaction_not_found"],
});
