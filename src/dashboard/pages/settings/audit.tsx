import type { AuditRow } from "../../../audit/audit.ts";
import { type PageContext, type PageRequest, type Routes } from "../../bind.tsx";
import { Empty, Older, Table, TimeCell } from "../../components.tsx";
import { type VendorNames, vendorWithLabel } from "../../vendor_names.ts";
import { usdText } from "../../amounts.ts";
import { allPages } from "../../../base/all_pages.ts";
import { type CsvColumns, csvFile } from "../../csv.ts";
import { settingsPage } from "./settings_page.tsx";

const address = "/dashboard/settings/audit";
const pageRows = 50;

/** The page with the audit log. */
export function auditRoutes(app: Routes, ctx: PageContext): void {
  app.get(address, "viewer", async (request) => {
    const asked = request.query("before") ?? "";
    const before = /^\d{1,18}$/.test(asked) ? BigInt(asked) : null;
    const rows = await ctx.audit.list(request.accountId, {
      before,
      limit: pageRows + 1,
    });
    return settingsPage(
      "audit",
      request,
      <AuditTable {...{ rows, request }} vendors={ctx.vendorNames} />,
    );
  });
  app.get(`${address}/csv`, "viewer", (request) => {
    const read = (last: AuditRow | undefined, limit: number) =>
      ctx.audit.list(request.accountId, { before: last?.id ?? null, limit });
    return csvFile("audit-log", columns, allPages(read));
  });
}

const columns: CsvColumns<AuditRow> = {
  created_at: ({ at }) => at,
  actor: ({ actor }) => actor.name,
  action: ({ action }) => action,
  subject: ({ subject }) => subject,
  account_id: ({ accountId }) => accountId,
  detail: ({ detail }) => detail,
};

/** Shows vendors and amounts as other pages do; the log itself has labels and all nine decimals. */
function readable(
  { action, ...row }: AuditRow,
  field: "subject" | "detail",
  vendors: VendorNames,
): string {
  const text = row[field];
  if (action.startsWith("vendor_key.")) return vendorWithLabel(vendors, text);
  const isKeyDetail = field === "detail" && action.startsWith("api_key.");
  if (!isKeyDetail && !/^(budget|credit|calls)\./.test(action)) return text;
  return text.replace(/(-?\d{1,20}\.\d{9}) USD/g, (_, amount: string) => usdText(amount));
}

function AuditTable({ rows, request, vendors }: {
  rows: readonly AuditRow[];
  request: PageRequest;
  vendors: VendorNames;
}) {
  if (rows.length === 0) {
    return (
      <Empty title="No entries yet">
        <p>
          Every change of keys, vendor keys, people and credit, and every deletion, is recorded
          here.
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
        head={["When", "Who", "What", "Subject", "Detail"]}
        csv={`${address}/csv`}
      >
        {shown.map((row) => (
          <tr>
            <TimeCell at={row.at} now={request.now} />
            <td>
              <div class="author">{row.actor.name}</div>
            </td>
            <td class="nowrap">
              <code>{row.action}</code>
            </td>
            <td>
              <div class="author">{readable(row, "subject", vendors)}</div>
            </td>
            <td class="muted breaks">{readable(row, "detail", vendors)}</td>
          </tr>
        ))}
      </Table>
      <Older
        href={rows.length > pageRows ? `${address}?before=${shown.at(-1)!.id}` : undefined}
      />
    </>
  );
}
