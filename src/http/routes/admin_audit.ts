import type { Hono } from "hono";
import { contracts } from "../../../contracts/mod.ts";
import { accountOf } from "../../administration/administration.ts";
import type { AuditLog } from "../../audit/audit.ts";
import type { AccountStore } from "../../keys/account.ts";
import { Fault } from "../../shared/fault.ts";
import { bind, type BindDeps } from "../bind.ts";
import type { Env } from "../request_context.ts";

/** Mounts the audit log. */
export function adminAuditRoutes(
  app: Hono<Env>,
  deps: BindDeps & {
    accounts: Pick<AccountStore, "first" | "find">;
    audit: Pick<AuditLog, "list">;
  },
): void {
  bind(app, contracts.admin.listAudit, deps, async ({ query: { account_id, limit, cursor } }) => {
    const owner = account_id === undefined ? undefined : await accountOf(deps.accounts, account_id);
    const before = cursor === undefined ? null : rowNumber(cursor);
    const rows = await deps.audit.list(owner?.id ?? null, { before, limit: limit + 1 });
    const page = rows.slice(0, limit);
    return {
      data: page.map((row) => ({
        at: row.at.toISOString(),
        actor: row.actor.name,
        action: row.action,
        subject: row.subject,
        detail: row.detail,
        account_id: row.accountId,
      })),
      next_cursor: rows.length > page.length ? String(page.at(-1)!.id) : null,
    };
  });
}

/** A cursor of a list by rows' numbers. */
function rowNumber(cursor: string): bigint {
  if (/^\d{1,18}$/.test(cursor)) return BigInt(cursor);
  throw new Fault("invalid_value", {
    param: "cursor",
    message: "cursor: expected `next_cursor` of the page before.",
  });
}
