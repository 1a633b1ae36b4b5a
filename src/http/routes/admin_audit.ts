import { contracts } from "../../../contracts/mod.ts";
import { accountFilter, pageOf, rowCursor } from "../../administration/administration.ts";
import type { AuditLog } from "../../audit/audit.ts";
import type { AccountStore } from "../../keys/account.ts";
import type { Endpoints } from "../bind.ts";

export function adminAuditRoutes(
  app: Endpoints,
  deps: {
    accounts: Pick<AccountStore, "first" | "find">;
    audit: Pick<AuditLog, "list">;
  },
): void {
  app.bind(contracts.admin.listAudit, async ({ query: { account_id, limit, cursor } }) => {
    const owner = await accountFilter(deps.accounts, account_id);
    const page = { before: rowCursor(cursor), limit: limit + 1 };
    const rows = await deps.audit.list(owner?.id ?? null, page);
    const { page: shown, next_cursor } = pageOf(rows, limit, ({ id }) => String(id));
    return {
      data: shown.map((row) => ({
        at: row.at.toISOString(),
        actor: row.actor.name,
        action: row.action,
        subject: row.subject,
        detail: row.detail,
        account_id: row.accountId,
      })),
      next_cursor,
    };
  });
}
