import { z } from "@hono/zod-openapi";
import { timestampSchema, wholeNumber } from "../kernel/common.ts";

/** The account that an answer is about. */
export const accountId = z.number().int().describe("Id of the account.").openapi({ example: 1 });

/** In a body: the account that a request applies to. */
export const accountIdInBody = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).optional()
  .describe(
    "Id of the account. Default: the first account.",
  );

/** In a query: the account that a request applies to. */
export const accountIdInQuery = wholeNumber({ minimum: 1 }).optional().describe(
  "Id of the account. Default: the first account.",
);

/** In the query of a list: the account that it is limited to. */
export const accountIdFilter = wholeNumber({ minimum: 1 }).optional().describe(
  "Only those of this account. Default: all accounts.",
);

export const createdAt = timestampSchema.describe("When it was created.");

/** The query of a list that comes in pages. */
export const adminPage = {
  limit: wholeNumber({ minimum: 1, maximum: 1000, default: 100 }).default(100).describe(
    "Rows per page, 1 to 1,000. Default 100.",
  ),
  cursor: z.string().min(1).max(200).optional().describe(
    "`next_cursor` of the previous page. Default: the first page.",
  ),
};

/**
 * The same of a list that had no pages at first: who reads one page has as many rows as a page may
 * have.
 */
export const longAdminPage = {
  ...adminPage,
  limit: wholeNumber({ minimum: 1, maximum: 1000, default: 1000 }).default(1000).describe(
    "Rows per page, 1 to 1,000. Default 1,000.",
  ),
};

/** Returns the schema of a page of rows. */
export function pageOf<Row extends z.ZodType>(row: Row, about: string) {
  return z.strictObject({
    data: z.array(row).describe(about),
    next_cursor: z.string().nullable().describe("`cursor` of the next page; null on the last one."),
  });
}

/** An amount in USD in a request; a string, since money must not be a floating-point number. */
export const usdAmount = z.string().regex(
  /^(\d{1,9}(\.\d{1,9})?|1000000000(\.0{1,9})?)$/,
  'expected an amount in US dollars such as "2.50", at most "1000000000"',
).openapi({ example: "2.50" });
