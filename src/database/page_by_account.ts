import type { AccountPage } from "../shared/account_page.ts";
import type { Queryable, SqlRow } from "./database.ts";

/** Reads a page of the rows of one account or of all, in the order of account and another column. */
export async function pageByAccount(
  database: Queryable,
  { select, name }: {
    /** The statement up to a condition. */
    select: string;
    /** The second column, which a unique index has behind the account. */
    name: string;
  },
  accountId: number | undefined,
  { after, limit }: AccountPage = {},
): Promise<SqlRow[]> {
  return await database.query(
    `${select} and ($1::bigint is null or account_id = $1::bigint)
       and ($2::bigint is null or (account_id, ${name}) > ($2::bigint, $3::text))
     order by account_id, ${name} limit $4::bigint`,
    [accountId ?? null, after?.accountId ?? null, after?.name ?? null, limit ?? null],
    // A plan for any page reads all rows.
    { forceCustomPlan: true },
  );
}
