import type { Audited } from "../audit/audit.ts";
import type { Account } from "../keys/account.ts";
import { parseVendorKey, type StoredVendorKey, type VendorKeyStore } from "../keys/vendor_key.ts";
import { Fault, messageOf, OptionError } from "../shared/fault.ts";
import type { Registry } from "../vendors/registry.ts";
import { canStoreKeyOf } from "../vendors/stored_keys.ts";
import { type Administrator, noteBy } from "./administration.ts";

export interface VendorKeyAdministrationDeps {
  registry: Registry;
  vendorKeys: Pick<Audited<VendorKeyStore>, "set" | "remove" | "list">;
  /** Is called after a change, so that this process uses it at once. */
  vendorKeysChanged: () => Promise<void>;
}

/**
 * Stores or replaces an account's own key at a vendor. Throws `OptionError`, whose message never
 * has the value.
 */
export async function setVendorKey(
  { registry, vendorKeys, vendorKeysChanged }: VendorKeyAdministrationDeps,
  by: Administrator,
  account: Account,
  { vendor, value }: { vendor: string; value: string },
): Promise<StoredVendorKey> {
  const label = labelOf(registry, vendor);
  const secret = option("value", () => parseVendorKey(value));
  const stored = await vendorKeys.set(
    account.id,
    label,
    secret,
    ({ lastFour }) => noteBy(by, account.id, "vendor_key.set", label, lastFour),
  );
  await vendorKeysChanged();
  return stored;
}

/** Removes a stored key; `removed` is false if none was stored. Throws `OptionError`. */
export async function removeVendorKey(
  { registry, vendorKeys, vendorKeysChanged }: VendorKeyAdministrationDeps,
  by: Administrator,
  account: Account,
  vendor: string,
): Promise<{ vendor: string; removed: boolean }> {
  const label = labelOf(registry, vendor);
  const note = noteBy(by, account.id, "vendor_key.removed", label);
  const removed = await vendorKeys.remove(account.id, label, note);
  await vendorKeysChanged();
  return { vendor: label, removed };
}

/**
 * Returns the stored key of one vendor. Throws `OptionError` and `Fault("vendor_key_not_found")`.
 */
export async function findVendorKey(
  { registry, vendorKeys }: Pick<VendorKeyAdministrationDeps, "registry" | "vendorKeys">,
  account: Account,
  vendor: string,
): Promise<StoredVendorKey> {
  const label = labelOf(registry, vendor);
  const found = (await vendorKeys.list(account.id)).find((key) => key.vendor === label);
  if (!found) throw noVendorKey(account, label);
  return found;
}

export function noVendorKey(account: Account, label: string): Fault {
  return new Fault("vendor_key_not_found", {
    param: "vendor",
    message: `Account '${account.name}' has no key of ${label} stored.`,
  });
}

function labelOf(registry: Registry, vendor: string): string {
  return option("vendor", () => canStoreKeyOf(registry, vendor)).label;
}

/**
 * Turns an error of `read` into an `OptionError` with the same message, which must not quote the
 * value: it may be a key.
 */
function option<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw new OptionError(field, messageOf(thrown));
  }
}

/** Returns a stored key as command line and API show it. */
export function vendorKeyJson(key: StoredVendorKey) {
  return {
    account_id: key.accountId,
    vendor: key.vendor,
    last_four: key.lastFour,
    created_at: key.createdAt.toISOString(),
    changed_at: key.changedAt.toISOString(),
  };
}
