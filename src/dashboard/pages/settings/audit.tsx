import type { Hono } from "hono";
import type { AuditRow } from "../../../audit/audit.ts";
import { page, type PageContext, type PageRequest } from "../../bind.tsx";
import { Empty, Older, Table, TimeCell } from "../../components.tsx";
import { settingsPage } from "./settings_page.tsx";

const pageRows = 50;

/** Who did what, when. */
export function auditRoutes(app: Hono, ctx: PageContext): void {
  app.get(
    "/dashboard/settings/audit",
    page(ctx, "viewer", async (request) => {
      const asked = request.query("before") ?? "";
      const before = /^\d{1,18}$/.test(asked) ? BigInt(asked) : null;
      const rows = await ctx.audit.list(request.session.account.id, {
        before,
        limit: pageRows + 1,
      });
      return settingsPage("audit", <AuditTable rows={rows} request={request} />);
    }),
  );
}

function AuditTable({ rows, request }: { rows: readonly AuditRow[]; request: PageRequest }) {
  if (rows.length === 0) {
    return (
      <Empty title="Nothing happened yet">
        <p>
          Every change of keys, vendor keys, people and credit, and every erasure, is noted here.
        </p>
      </Empty>
    );
  }
  const shown = rows.slice(0, pageRows);
  return (
    <>
      <h2>Audit log</h2>
      <Table
        label="Audit log"
        head={["When", "Who", "What", "Subject", "Account", "Detail"]}
      >
        {shown.map((row) => (
          <tr>
            <TimeCell at={row.at} now={request.now} />
            <td>{row.actor.name}</td>
            <td class="nowrap">
              <code>{row.action}</code>
            </td>
            <td>{row.subject}</td>
            <td>{row.accountId}</td>
            <td class="muted">{row.detail}</td>
          </tr>
        ))}
      </Table>
      <Older
        href={rows.length > pageRows
          ? `/dashboard/settings/audit?before=${shown.at(-1)!.id}`
          : undefined}
      />
    </>
  );
}
