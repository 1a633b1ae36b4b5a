import type { Audited } from "../audit/audit.ts";
import { adminScope } from "../../contracts/kernel/contract.ts";
import type { Clock } from "../base/clock.ts";
import { nanosToUsd } from "../base/money.ts";
import { didYouMean } from "../base/nearest_names.ts";
import type { Secret } from "../base/secret.ts";
import type { Account, AccountStore } from "../keys/account.ts";
import type { ApiKey, ApiKeyChange, ApiKeyStore, NewApiKey } from "../keys/api_key.ts";
import { mintKey } from "../keys/credential.ts";
import { changeText, grantText } from "../keys/key_audit.ts";
import { checkKeyDefaults, type KeyDefaults, noModel } from "../keys/key_defaults.ts";
import { Fault, OptionError } from "../shared/fault.ts";
import type { Registry } from "../vendors/registry.ts";
import { shownVendor } from "../vendors/shown_vendor.ts";
import { type Administrator, noteBy } from "./administration.ts";

/** The options of a new key; its other fields are generated. */
export type NewKeyOptions = Omit<NewApiKey, "id" | "accountId" | "prefix" | "hash">;

export interface KeyAdministrationDeps {
  accounts: Pick<AccountStore, "first">;
  apiKeys: Pick<Audited<ApiKeyStore>, "insert" | "change" | "revoke" | "findById">;
  scopes: readonly string[];
  registry: Registry;
  clock: Clock;
  /** Is called with the keys that changed, so that a cache forgets them at once. */
  keysChanged: (ids: readonly string[]) => void;
  /** Whether a model name of the unified endpoints leads to a model for the account. */
  isModel: (accountId: number, name: string) => Promise<boolean>;
}

/** Creates a key of an account; only here is its value available. Throws `OptionError`. */
export async function createApiKey(
  deps: Omit<KeyAdministrationDeps, "keysChanged">,
  by: Administrator,
  account: Account,
  options: NewKeyOptions,
): Promise<{ key: ApiKey; value: Secret }> {
  const scopes = options.scopes.map((name, index) =>
    scopeNamed(deps, name, (problem) => new OptionError(`scopes[${index}]`, problem))
  );
  if (scopes.includes(adminScope) && account.id !== (await deps.accounts.first())?.id) {
    throw new OptionError("scopes", `only keys of the first account may have ${adminScope}`);
  }
  for (const [index, model] of options.models.entries()) {
    // After a vendor's label any name leads to a model, also a list with commas or spaces.
    if (/[,\s]/.test(model) || !await deps.isModel(account.id, model)) {
      throw noModel(`models[${index}]`, model);
    }
  }
  if (options.expiresAt && options.expiresAt <= deps.clock.now()) {
    throw new OptionError("expires", "expected a time in the future");
  }
  const { value, ...made } = mintKey(deps.clock);
  const row = { ...options, scopes, ...made, accountId: account.id };
  const note = noteBy(by, account.id, "api_key.created", options.name, grantText(row));
  const key = await deps.apiKeys.insert(row, note);
  return { key, value };
}

/**
 * Returns the scope with this name; a vendor's scope has all names of the vendor. Throws
 * what `errorOf` returns for any other.
 */
export function scopeNamed(
  { registry, scopes }: Pick<KeyAdministrationDeps, "registry" | "scopes">,
  name: string,
  errorOf: (problem: string) => Error,
): string {
  const scope = scopes.includes(name) ? name : registry.find(name)?.label;
  if (scope !== undefined && scopes.includes(scope)) return scope;
  const expected = scopes.map((one) => shownVendor(registry, one)).join(", ");
  const names = [...scopes, ...registry.all.flatMap(({ aliases }) => aliases)];
  throw errorOf(`expected one of ${expected}.${didYouMean(name, names)}`);
}

/**
 * Checks the defaults of a new key; undefined if there are none. Its app is trimmed, like tags and
 * the names of budgets. Throws `OptionError`.
 */
export async function checkedKeyDefaults(
  { app, ...others }: KeyDefaults,
  caps: Pick<NewApiKey, "capDayNanos" | "capMonthNanos">,
  isModel: (name: string) => Promise<boolean>,
): Promise<KeyDefaults | undefined> {
  const defaults = { ...others, ...(app === undefined ? {} : { app: app.trim() }) };
  if (Object.keys(defaults).length === 0) return undefined;
  await checkKeyDefaults(defaults, caps, isModel);
  return defaults;
}

/** Changes a key's name and caps. Throws `Fault("api_key_not_found")`. */
export async function changeApiKey(
  deps: Pick<KeyAdministrationDeps, "apiKeys" | "keysChanged">,
  by: Administrator,
  id: string,
  change: ApiKeyChange,
): Promise<ApiKey> {
  const changed = await deps.apiKeys.change(
    id,
    change,
    (before, after) =>
      noteBy(by, after.accountId, "api_key.changed", after.name, changeText(before, after)),
  );
  if (!changed) throw noKey(id);
  deps.keysChanged([id]);
  return changed;
}

/** Revokes a key; doing it again changes nothing. Throws `Fault("api_key_not_found")`. */
export async function revokeApiKey(
  deps: Pick<KeyAdministrationDeps, "apiKeys" | "keysChanged">,
  by: Administrator,
  id: string,
): Promise<{ wasRevokedBefore: boolean }> {
  const revoked = await deps.apiKeys.revoke(
    id,
    ({ accountId, name, prefix }) => noteBy(by, accountId, "api_key.revoked", name, `${prefix}…`),
  );
  deps.keysChanged([id]);
  if (!revoked && !await deps.apiKeys.findById(id)) throw noKey(id);
  return { wasRevokedBefore: !revoked };
}

export function noKey(id: string): Fault {
  return new Fault("api_key_not_found", { message: `No key has the id ${id}.` });
}

/** Returns a key as lists of the command line and the API show it. */
export function apiKeyJson(key: ApiKey) {
  return {
    id: key.id,
    prefix: key.prefix,
    name: key.name,
    account_id: key.accountId,
    scopes: [...key.scopes],
    models: [...key.models],
    on_disconnect: key.onDisconnect,
    translation_mode: key.translationMode,
    prompt_cache: key.promptCache,
    cache_ttl_seconds: key.cacheTtlSeconds ?? null,
    record: key.recording ?? "full" as const,
    for: key.defaults?.agent ?? null,
    app: key.defaults?.app ?? null,
    default_model: key.defaults?.defaultModel ?? null,
    map: key.defaults?.models ?? {},
    expected_output_tokens: key.defaults?.expectedOutputTokens ?? null,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    revoked_at: key.revokedAt?.toISOString() ?? null,
  };
}

/** Returns a key with its caps, as the API shows it. */
export function apiKeyView(key: ApiKey) {
  const usd = (nanos: bigint | null) => nanos === null ? null : nanosToUsd(nanos);
  return {
    ...apiKeyJson(key),
    cap_day_usd: usd(key.capDayNanos),
    cap_month_usd: usd(key.capMonthNanos),
  };
}
