import type { Log } from "../base/log.ts";
import type { Secret } from "../base/secret.ts";
import { Fault } from "../shared/fault.ts";
import type { VendorKeyChange, VendorKeyStore } from "./vendor_key.ts";
import type { Registry } from "../vendors/registry.ts";

export interface VendorKeyCacheDeps {
  store: Pick<VendorKeyStore, "changedSince">;
  registry: Registry;
  log: Log;
}

/**
 * All accounts' own vendor keys in memory, so that a call needs no database, whether its account
 * has stored a key or not.
 */
export class VendorKeyCache {
  readonly #changes = new Map<string, VendorKeyChange>();
  #since: Date | null = null;
  #masterKeyMatches = true;
  #loading: Promise<void> | undefined;

  readonly #deps: VendorKeyCacheDeps;

  constructor(deps: VendorKeyCacheDeps) {
    this.#deps = deps;
  }

  /**
   * Returns the key that an account has stored for a vendor, or for the vendor whose keys it
   * shares; undefined when there is none. Throws `store_unavailable` while nothing could be read
   * yet, and `internal_error` for a key that doesn't open: going on without it would charge the
   * credit that it was stored to spare.
   */
  async find(accountId: number, vendorLabel: string): Promise<Secret | undefined> {
    if (this.#since === null) await this.#load();
    const label = this.#deps.registry.find(vendorLabel)?.sharesWith ?? vendorLabel;
    const state = this.#changes.get(keyOf(accountId, label))?.state;
    if (state?.kind === "stored") return state.key;
    if (state?.kind !== "unreadable") return undefined;
    const advice = this.#masterKeyMatches
      ? "Store it again, or tell the operator."
      : "Tell the operator: this process has another MASTER_KEY than the one that it is stored under.";
    throw new Fault("internal_error", {
      message: `The key that this account has stored for ${label} can't be opened. ${advice}`,
      note: `stored vendor key of account ${accountId}, ${label}: ${state.reason}`,
    });
  }

  /** Reads what has changed in the store since the last refresh. */
  async refresh(): Promise<void> {
    const { now, masterKeyMatches, changes } = await this.#deps.store.changedSince(this.#since);
    for (const change of changes) this.#take(change, masterKeyMatches);
    const regained = masterKeyMatches && !this.#masterKeyMatches;
    if (!masterKeyMatches && this.#masterKeyMatches) {
      this.#deps.log.error(
        "vendor keys are now sealed under another MASTER_KEY than this process has: set the new one and restart; keys already loaded keep working",
      );
    }
    this.#masterKeyMatches = masterKeyMatches;
    // Rows become visible when their transaction commits, a little after their time of change, so
    // each refresh looks back a minute. Once the master key is right again, all is read again,
    // since some keys didn't open.
    this.#since = new Date(regained ? 0 : now.getTime() - 60_000);
  }

  /** Calls that come before the first refresh share it. */
  #load(): Promise<void> {
    return this.#loading ??= this.refresh().finally(() => this.#loading = undefined);
  }

  #take(change: VendorKeyChange, masterKeyMatches: boolean): void {
    const key = keyOf(change.accountId, change.vendor);
    const changes = this.#changes.get(key);
    const older = changes !== undefined && changes.revision >= change.revision;
    if (older && !(changes.revision === change.revision && changes.state.kind === "unreadable")) {
      return;
    }
    // Under another master key nothing opens; that is logged once for the process.
    if (change.state.kind === "unreadable" && !older && masterKeyMatches) {
      this.#deps.log.error("a stored vendor key can't be opened", {
        account: change.accountId,
        vendor: change.vendor,
        reason: change.state.reason,
      });
    }
    this.#changes.set(key, change);
  }
}

function keyOf(accountId: number, label: string): string {
  return `${accountId} ${label}`;
}
