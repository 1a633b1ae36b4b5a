import { contracts } from "../../../contracts/mod.ts";
import {
  accountView,
  changeAccountLimits,
  createAccount,
} from "../../administration/account_administration.ts";
import {
  accountOf,
  administratorBy,
  pageOf,
  rowCursor,
} from "../../administration/administration.ts";
import {
  changeCredit,
  creditJson,
  grantAmount,
} from "../../administration/credit_administration.ts";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { nanosToUsd } from "../../base/money.ts";
import type { CreditHistory } from "../../credit/credit_history.ts";
import type { Credit, Ledger } from "../../credit/ledger.ts";
import type { Idempotency } from "../../idempotency/idempotency.ts";
import type { AccountStore } from "../../keys/account.ts";
import type { ApiKeyStore } from "../../keys/api_key.ts";
import type { CallContext } from "../../relay/call_context.ts";
import type { Endpoints } from "../bind.ts";
import { idempotent, repeatableHash } from "../idempotent.ts";
import { jsonReply } from "../respond.ts";

export interface AdminAccountDeps {
  accounts: AccountStore;
  apiKeys: Pick<ApiKeyStore, "page">;
  keysChanged: (ids: readonly string[]) => void;
  ledger: Pick<Ledger, "grant" | "adjust">;
  recallCredit: (accountId: number) => void;
  showCredit: (accountId: number) => Promise<Credit>;
  creditHistory: CreditHistory;
  idempotency: Idempotency;
  clock: Clock;
}

export function adminAccountRoutes(app: Endpoints, deps: AdminAccountDeps): void {
  const { accounts } = deps;
  const { admin } = contracts;
  const by = administratorBy(deps.clock);

  app.bind(admin.listAccounts, async ({ query: { limit, cursor } }) => {
    const rows = await accounts.page({ after: rowCursor(cursor), limit: limit + 1 });
    const { page, next_cursor } = pageOf(rows, limit, ({ id }) => String(id));
    return { data: page.map(accountView), next_cursor };
  });

  app.bind(
    admin.createAccount,
    async ({ caller, body }) => accountView(await createAccount(deps, by(caller), body.name)),
  );

  app.bind(
    admin.getAccount,
    async ({ params }) => accountView(await accountOf(accounts, params.id, "id")),
  );

  app.bind(admin.updateAccount, async ({ caller, params, body }) => {
    const account = await accountOf(accounts, params.id, "id");
    return accountView(await changeAccountLimits(deps, by(caller), account, body));
  });
  creditRoutes(app, deps);
}

interface CreditChangeRequest {
  caller: CallContext;
  body: { usd: string; account_id?: number | undefined; note?: string | undefined };
  bodyText: string;
}

function creditRoutes(app: Endpoints, deps: AdminAccountDeps): void {
  const { accounts } = deps;
  const { admin } = contracts;
  const by = administratorBy(deps.clock);

  app.bind(admin.showCredit, async ({ query }) => {
    const { id } = await accountOf(accounts, query.account_id);
    return { account_id: id, ...creditJson(await deps.showCredit(id)) };
  });

  const change = async (
    verb: "granted" | "deducted",
    { caller, body, bodyText }: CreditChangeRequest,
  ) => {
    const nanos = grantAmount(body.usd);
    const account = await accountOf(accounts, body.account_id);
    const hash = repeatableHash(caller, bodyText);
    const name = verb === "granted" ? "grant" : "deduction";
    const more = defined({ note: body.note, operationId: hash && `${name} ${hash}` });
    const run = async () => {
      const credit = await changeCredit(deps, by(caller), account, { verb, nanos, ...more });
      const changed = { [`${verb}_usd`]: nanosToUsd(nanos) };
      return jsonReply({ account_id: account.id, ...creditJson(credit), ...changed });
    };
    return await idempotent(deps.idempotency, { caller, bodyText }, run);
  };
  app.bind(admin.grantCredit, (request) => change("granted", request));
  app.bind(admin.deductCredit, (request) => change("deducted", request));

  app.bind(admin.listGrants, async ({ query: { account_id, limit, cursor } }) => {
    const account = await accountOf(accounts, account_id);
    const rows = await deps.creditHistory.latest(account.id, limit + 1, rowCursor(cursor));
    const { page, next_cursor } = pageOf(rows, limit, ({ id }) => String(id));
    return {
      data: page.map(({ kind, nanos, note, transactionId, at }) => ({
        account_id: account.id,
        kind,
        usd: nanosToUsd(nanos),
        note,
        transaction_id: transactionId,
        created_at: at.toISOString(),
      })),
      next_cursor,
    };
  });
}
