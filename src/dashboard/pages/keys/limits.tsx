import type { CreditEntry } from "../../../credit/credit_history.ts";
import type { KeyRow } from "../../../keys/key_service.ts";
import type { Credit } from "../../../credit/ledger.ts";
import { count, exactUsd, usd } from "../../amounts.ts";
import { type PageContext, type PageRequest, type Routes } from "../../bind.tsx";
import { numberColumn, Table, Tile, TimeCell } from "../../components.tsx";
import { keySpend } from "../../key_spend.ts";
import type { SpendByKey } from "../../../credit/spend_cap.ts";
import { Caps } from "../../caps.tsx";
import { allPages } from "../../../base/all_pages.ts";
import { type CsvColumns, csvFile } from "../../csv.ts";
import { capColumns, keysWithSpend } from "./keys.tsx";
import { settingsPage } from "../settings/settings_page.tsx";

const address = "/dashboard/settings/limits";
/** The most grants, and the most corrections. */
const shownEntries = 20;
const shownKeys = 50;

/** The page about limits: the account's rate, its credit, and its keys' spend caps. */
export function limitRoutes(app: Routes, ctx: PageContext): void {
  app.get(address, "viewer", async (request) => {
    const { accountId } = request;
    const [credit, entries, capped, operatorAccountId] = await Promise.all([
      ctx.credit(accountId),
      ctx.creditHistory.latestOfEachKind(accountId, shownEntries),
      ctx.keys.list(accountId, { isCapped: true, limit: shownKeys + 1 }),
      ctx.operatorAccountId(),
    ]);
    // Operators only: the command shows the machine's paths, and grants to the first account.
    const isOperator = request.may("owner") && accountId === operatorAccountId;
    const spent = await keySpend(ctx.spend, capped, request.now);
    return settingsPage(
      "limits",
      request,
      <>
        <Rate request={request} />
        <CreditPart
          credit={credit}
          entries={entries}
          request={request}
          adminCommand={isOperator ? ctx.adminCommand : undefined}
        />
        <CapsPart keys={capped} spent={spent} />
      </>,
    );
  });
  app.get(`${address}/credit/csv`, "viewer", (request) => {
    const read = (last: CreditEntry | undefined, limit: number) =>
      ctx.creditHistory.latest(request.accountId, limit, last?.id);
    return csvFile("credit", creditColumns, allPages(read));
  });
  app.get(
    `${address}/caps/csv`,
    "viewer",
    (request) => csvFile("spend-caps", capColumns, keysWithSpend(ctx, request, { isCapped: true })),
  );
}

const creditColumns: CsvColumns<CreditEntry> = {
  created_at: ({ at }) => at,
  kind: ({ kind }) => kind,
  amount_usd: ({ nanos }) => ({ nanos }),
  note: ({ note }) => note,
  transaction_id: ({ transactionId }) => transactionId,
};

function Rate({ request }: { request: PageRequest }) {
  const { tier, requestsPerMinute, burst } = request.session.account;
  return (
    <>
      <h2>Rate limit</h2>
      <div class="tiles">
        <Tile level={3} name="Tier" value={tier.charAt(0).toUpperCase() + tier.slice(1)}>
          Set by the operator
        </Tile>
        <Tile level={3} name="Requests per minute" value={count(requestsPerMinute)}>
          All keys of the account together
        </Tile>
        <Tile level={3} name="Burst" value={count(burst)}>Maximum requests at once</Tile>
      </div>
    </>
  );
}

export function CreditPart(
  { credit: { balanceNanos, reservedNanos }, entries, request, adminCommand }: {
    adminCommand: string | undefined;
    credit: Credit;
    entries: readonly CreditEntry[];
    request: PageRequest;
  },
) {
  return (
    <>
      <h2>Credit</h2>
      <div class="tiles">
        <Tile level={3} name="Balance" value={usd(balanceNanos)} exact={exactUsd(balanceNanos)}>
          {balanceNanos > 0n
            ? "Grants and corrections, less what calls were charged"
            : "Calls with the service's own vendor keys are refused"}
        </Tile>
        <Tile level={3} name="Reserved" value={usd(reservedNanos)} exact={exactUsd(reservedNanos)}>
          Reserved for calls in flight
        </Tile>
      </div>
      <CreditEntries entries={entries} now={request.now} />
      <p class="hint narrow">
        Credit is granted by the operator{adminCommand === undefined ? "." : (
          <>
            :{" "}
            <code>
              {`${adminCommand} credits grant `}
              <span class="nowrap">--usd 25</span>
            </code>.
          </>
        )}{" "}
        A correction takes credit back, or corrects what a call was charged. Calls with a vendor key
        of your own cost no credit.
      </p>
    </>
  );
}

/** The latest grants and corrections. */
export function CreditEntries({ entries, now }: { entries: readonly CreditEntry[]; now: Date }) {
  if (entries.length === 0) return <p class="muted">No credit has been granted yet.</p>;
  const kinds = Map.groupBy(entries, ({ kind }) => kind);
  const isCut = kinds.values().some(({ length }) => length === shownEntries);
  return (
    <>
      <Table label="Grants and corrections" head={creditHead} csv={`${address}/credit/csv`}>
        {entries.map(({ kind, nanos, note, at }) => (
          <tr>
            <TimeCell at={at} now={now} />
            <td>{kind === "grant" ? "Grant" : "Correction"}</td>
            <td class="number" title={exactUsd(nanos)}>{usd(nanos)}</td>
            <td class="wide">{note ?? <span class="muted">–</span>}</td>
          </tr>
        ))}
      </Table>
      {isCut
        ? (
          <p class="hint narrow">
            {`The ${shownEntries} newest grants and the ${shownEntries} newest corrections are shown; the file has all.`}
          </p>
        )
        : null}
    </>
  );
}

const creditHead = ["When", "What", numberColumn("Amount"), "Note"];

export function CapsPart({ keys, spent }: { keys: readonly KeyRow[]; spent: SpendByKey }) {
  return (
    <>
      <h2>Spend caps</h2>
      {keys.length === 0
        ? <p class="muted">No key has a cap: each can spend the whole balance.</p>
        : (
          <Table
            label="Spend caps"
            head={["Key", "Spent of its caps"]}
            csv={`${address}/caps/csv`}
          >
            {keys.slice(0, shownKeys).map((key) => (
              <tr>
                <td class="name">
                  <a href={`/dashboard/keys/${key.id}`}>{key.name}</a>
                  <div>
                    <code class="muted">{`${key.prefix}…`}</code>
                  </div>
                </td>
                <td>
                  <Caps row={key} spent={spent.get(key.id)} />
                </td>
              </tr>
            ))}
          </Table>
        )}
      <p class="hint narrow">
        {keys.length > shownKeys ? `The ${shownKeys} newest are shown; the file has all. ` : ""}
        Days and months are in UTC; what a key was charged before it had a cap doesn't count. Change
        caps on the key's page.
      </p>
    </>
  );
}
