import type { z } from "zod";
import { contracts } from "../../../contracts/mod.ts";
import {
  accountCursor,
  accountFilter,
  accountOf,
  administratorBy,
  idCursor,
  pageOf,
  readAccountCursor,
} from "../../administration/administration.ts";
import {
  apiKeyView,
  changeApiKey,
  checkedKeyDefaults,
  createApiKey,
  type KeyAdministrationDeps,
  noKey,
  revokeApiKey,
} from "../../administration/key_administration.ts";
import {
  findVendorKey,
  noVendorKey,
  removeVendorKey,
  setVendorKey,
  type VendorKeyAdministrationDeps,
  vendorKeyJson,
} from "../../administration/vendor_key_administration.ts";
import { defined } from "../../base/defined.ts";
import { parseUsd } from "../../base/money.ts";
import type { AccountStore } from "../../keys/account.ts";
import type { KeyDefaults } from "../../keys/key_defaults.ts";
import type { ApiKeyStore } from "../../keys/api_key.ts";
import type { StoredVendorKey } from "../../keys/vendor_key.ts";
import { momentOf } from "../../shared/time_span.ts";
import type { Endpoints } from "../bind.ts";

export interface AdminKeyDeps extends KeyAdministrationDeps, VendorKeyAdministrationDeps {
  accounts: AccountStore;
  apiKeys: ApiKeyStore;
}

export function adminKeyRoutes(app: Endpoints, deps: AdminKeyDeps): void {
  const { accounts, apiKeys } = deps;
  const { admin } = contracts;
  const by = administratorBy(deps.clock);

  app.bind(admin.listKeys, async ({ query: { account_id, limit, cursor } }) => {
    const owner = await accountFilter(accounts, account_id);
    const page = { after: idCursor(cursor), limit: limit + 1 };
    const rows = await apiKeys.page(owner?.id ?? null, page);
    const { page: shown, next_cursor } = pageOf(rows, limit, ({ id }) => id);
    return { data: shown.map(apiKeyView), next_cursor };
  });

  app.bind(admin.createKey, async ({ caller, body }) => {
    const account = await accountOf(accounts, body.account_id);
    const caps = {
      capDayNanos: capOf(body.cap_day_usd) ?? null,
      capMonthNanos: capOf(body.cap_month_usd) ?? null,
    };
    const isModel = (name: string) => deps.isModel(account.id, name);
    const defaults = await checkedKeyDefaults(defaultsOf(body), caps, isModel);
    const { key, value } = await createApiKey(deps, by(caller), account, {
      name: body.name,
      scopes: body.scopes ?? [],
      models: body.models ?? [],
      onDisconnect: body.on_disconnect ?? "cancel",
      translationMode: body.translation_mode ?? "default",
      promptCache: body.prompt_cache ?? true,
      ...defined({ cacheTtlSeconds: body.cache_ttl }),
      ...(body.record === "metadata" ? { recording: body.record } : {}),
      ...caps,
      defaults,
      expiresAt: body.expires === undefined ? null : momentOf(body.expires),
    });
    return { ...apiKeyView(key), key: value.reveal() };
  });

  app.bind(admin.getKey, async ({ params }) => {
    const found = await apiKeys.findById(params.id);
    if (!found) throw noKey(params.id);
    return apiKeyView(found.key);
  });

  app.bind(admin.updateKey, async ({ caller, params, body }) => {
    const change = defined({
      name: body.name,
      capDayNanos: capOf(body.cap_day_usd),
      capMonthNanos: capOf(body.cap_month_usd),
    });
    return apiKeyView(await changeApiKey(deps, by(caller), params.id, change));
  });

  app.bind(admin.revokeKey, async ({ caller, params }) => {
    await revokeApiKey(deps, by(caller), params.id);
    return { id: params.id, revoked: true as const };
  });
  vendorKeyRoutes(app, deps);
}

type NewKeyBody = z.output<NonNullable<typeof contracts.admin.createKey.body>>;

function defaultsOf(body: NewKeyBody): KeyDefaults {
  const { for: agent, app = agent, default_model: defaultModel, map: models } = body;
  const { expected_output_tokens: expectedOutputTokens } = body;
  return defined({ agent, app, defaultModel, models, expectedOutputTokens });
}

function capOf(usd: string | null | undefined): bigint | null | undefined {
  return typeof usd === "string" ? parseUsd(usd, 9) : usd;
}

function vendorKeyRoutes(app: Endpoints, deps: AdminKeyDeps): void {
  const { accounts, vendorKeys } = deps;
  const { admin } = contracts;
  const by = administratorBy(deps.clock);

  app.bind(admin.listVendorKeys, async ({ query: { account_id, limit, cursor } }) => {
    const owner = await accountFilter(accounts, account_id);
    const after = readAccountCursor(cursor);
    const rows = await vendorKeys.list(owner?.id, { after, limit: limit + 1 });
    const placeOf = ({ accountId, vendor }: StoredVendorKey) =>
      accountCursor({ accountId, name: vendor });
    const { page, next_cursor } = pageOf(rows, limit, placeOf);
    return { data: page.map(vendorKeyJson), next_cursor };
  });

  app.bind(admin.setVendorKey, async ({ caller, body }) => {
    const account = await accountOf(accounts, body.account_id);
    return vendorKeyJson(await setVendorKey(deps, by(caller), account, body));
  });

  app.bind(admin.getVendorKey, async ({ params, query }) => {
    const account = await accountOf(accounts, query.account_id);
    return vendorKeyJson(await findVendorKey(deps, account, params.vendor));
  });

  app.bind(admin.deleteVendorKey, async ({ caller, params, query }) => {
    const account = await accountOf(accounts, query.account_id);
    const { vendor, removed } = await removeVendorKey(deps, by(caller), account, params.vendor);
    if (!removed) throw noVendorKey(account, vendor);
    return { account_id: account.id, vendor, removed: true as const };
  });
}
