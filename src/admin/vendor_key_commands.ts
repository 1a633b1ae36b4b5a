import { noteBy } from "../administration/administration.ts";
import {
  noVendorKey,
  removeVendorKey,
  setVendorKey,
  vendorKeyJson,
} from "../administration/vendor_key_administration.ts";
import type { Clock } from "../base/clock.ts";
import { Secret } from "../base/secret.ts";
import type { AccountStore } from "../keys/account.ts";
import { messageOf } from "../shared/fault.ts";
import { MasterKey } from "../keys/sealing.ts";
import { parseVendorKey, type StoredVendorKey, type VendorKeyStore } from "../keys/vendor_key.ts";
import type { Registry, Vendor } from "../vendors/registry.ts";
import { canStoreKeyOf } from "../vendors/stored_keys.ts";
import {
  accountOption,
  chosenAccount,
  type Command,
  commandLineAt,
  type CommandResult,
  done,
  listedAccount,
  listedAccountOption,
  listedInPages,
  notFound,
  required,
  textOption,
  UsageError,
  type Values,
} from "./command.ts";

export interface VendorKeyDeps {
  accounts: Pick<AccountStore, "first" | "find">;
  registry: Registry;
  clock: Clock;
  vendorKeys: VendorKeyStore;
  /** Called after a key changed, so that this process uses the new keys at once. */
  vendorKeysChanged: () => Promise<void>;
}

const both = { ...accountOption, vendor: textOption };

/** `vendor-key …` and `master-key rotate`. Values come from standard input and are never shown. */
export const vendorKeyCommands: Readonly<Record<string, Command<VendorKeyDeps>>> = {
  "vendor-key set": {
    summary:
      "Stores an account's own key for a vendor; its calls to the vendor use it and are not charged.",
    example: "vendor-key set --vendor openai",
    input: { example: "printenv OPENAI_API_KEY", isSecret: true },
    usage: "vendor-key set --vendor V [--account A]   (the key from standard input)",
    options: both,
    run: setKey,
  },
  "vendor-key remove": {
    summary: "Removes an account's own key for a vendor.",
    example: "vendor-key remove --vendor openai",
    usage: "vendor-key remove --vendor V [--account A]",
    options: both,
    run: removeKey,
  },
  "vendor-key list": {
    summary: "Lists which vendor keys are stored, without their values.",
    example: "vendor-key list",
    usage: "vendor-key list [--account A]",
    options: listedAccountOption,
    run: listKeys,
  },
  "master-key rotate": {
    summary: "Encrypts the stored vendor keys with a new master key.",
    example: "master-key rotate",
    // Not made in the pipe: nobody could set MASTER_KEY to a key that only this command has seen.
    input: { example: "cat new-master.key", isSecret: true },
    usage: "master-key rotate   (the new key from standard input)",
    run: rotate,
  },
};

async function setKey(
  deps: VendorKeyDeps,
  values: Values,
  _args: readonly string[],
  input: string,
): Promise<CommandResult> {
  const { label } = vendorOf(deps, values);
  usage("standard input", () => parseVendorKey(input));
  const owner = await chosenAccount(deps.accounts, values);
  const by = commandLineAt(deps.clock);
  const stored = await setVendorKey(deps, by, owner, { vendor: label, value: input });
  return done({ account_id: owner.id, vendor: label, last_four: stored.lastFour }, [
    `Calls of account '${owner.name}' to ${label} use the key ${shown(stored)} from now on.`,
  ]);
}

async function removeKey(deps: VendorKeyDeps, values: Values): Promise<CommandResult> {
  const { label } = vendorOf(deps, values);
  const owner = await chosenAccount(deps.accounts, values);
  const { removed } = await removeVendorKey(deps, commandLineAt(deps.clock), owner, label);
  const json = { account_id: owner.id, vendor: label, removed };
  if (removed) return done(json, [`The ${label} key of account '${owner.name}' is removed.`]);
  return notFound(json, noVendorKey(owner, label).message);
}

async function listKeys(deps: VendorKeyDeps, values: Values): Promise<CommandResult> {
  const account = await listedAccount(deps.accounts, values);
  const read = (last: StoredVendorKey | undefined, limit: number) => {
    const after = last && { accountId: last.accountId, name: last.vendor };
    return deps.vendorKeys.list(account, { after, limit });
  };
  const line = (key: StoredVendorKey) =>
    [`account ${key.accountId}`, key.vendor, shown(key), key.changedAt.toISOString()].join("  ");
  return await listedInPages(read, vendorKeyJson, line, "No vendor keys stored.");
}

async function rotate(
  deps: VendorKeyDeps,
  _values: Values,
  _args: readonly string[],
  input: string,
): Promise<CommandResult> {
  const next = usage("standard input", () => new MasterKey(new Secret(input.trim())));
  const first = await deps.accounts.first();
  const by = commandLineAt(deps.clock);
  const { resealed, already, source } = await deps.vendorKeys.rotate(
    next,
    first &&
      ((count) => noteBy(by, first.id, "master_key.rotated", "", `values re-encrypted: ${count}`)),
  );
  await deps.vendorKeysChanged();
  const what = already
    ? "The database already uses this master key."
    : `${resealed} vendor key${
      resealed === 1 ? " is" : "s are"
    } now encrypted with the new master key.`;
  const todo = source === "environment"
    ? "Set MASTER_KEY to it for every process and restart those with the old one; until then they keep using the keys that they have loaded."
    : "It is in DATA_DIR/master.key.";
  return done({ resealed, already, source }, [what, todo]);
}

function vendorOf(deps: VendorKeyDeps, values: Values): Vendor {
  const name = required(values, "vendor");
  return usage("--vendor", () => canStoreKeyOf(deps.registry, name));
}

/** Turns an error about an input into a `UsageError`; `what` names the input, never its value. */
function usage<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw new UsageError(`${what}: ${messageOf(thrown)}`);
  }
}

function shown({ lastFour }: Pick<StoredVendorKey, "lastFour">): string {
  return `…${lastFour}`;
}
