import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Secret } from "../base/secret.ts";
import type { AuditLog } from "../audit/audit.ts";
import type { KeyService } from "../keys/key_service.ts";
import type { PeopleStore } from "../people/person.ts";
import type { SessionStore } from "../people/session.ts";
import type { SignInStore } from "../people/sign_in.ts";
import type { VendorKeyStore } from "../keys/vendor_key.ts";
import type { SignInSettings } from "./identity_provider.ts";
import type { RecordDeps } from "./record_deps.ts";
import type { InteractionDeps } from "./pages/interactions/parts.ts";
import type { OverviewDeps } from "./pages/overview/load.ts";
import type { PlaygroundDeps } from "./pages/playground/page.tsx";

/** What came of asking a vendor for its models with a key. */
export type VendorKeyTest =
  | { kind: "works"; models: number }
  | { kind: "refused" }
  | { kind: "unknown"; reason: string };

/** A vendor whose keys may be stored. */
export interface KeyVendor {
  label: string;
  /** What people call it. */
  names: readonly string[];
  kind: string;
}

/** Everything that the dashboard's pages work on. */
export interface DashboardDeps extends RecordDeps {
  /** Public address of the service, without a slash at its end. */
  baseUrl: string;
  /** Undefined: sign-in is off. */
  signIn: SignInSettings | undefined;
  /** E-mail domains whose people become members of the first account. */
  allowedDomains: readonly string[];
  signIns: SignInStore;
  sessions: SessionStore;
  people: PeopleStore;
  audit: AuditLog;
  keys: KeyService;
  /** Told which keys changed, so that this process goes by it at once. */
  keysChanged: (ids: readonly string[]) => void;
  /** Scopes that a key may have. */
  scopes: readonly string[];
  /** A model that a first call can be made to. */
  exampleModel: () => string | undefined;
  vendorKeys: Pick<VendorKeyStore, "set" | "remove" | "list">;
  vendorKeysChanged: () => Promise<void>;
  keyVendors: readonly KeyVendor[];
  /** The account's stored key. */
  storedVendorKey: (accountId: number, vendor: string) => Promise<Secret | undefined>;
  testVendorKey: (vendor: string, key: Secret) => Promise<VendorKeyTest>;
  interactions: InteractionDeps;
  overview: OverviewDeps;
  playground: PlaygroundDeps;
  clock: Clock;
  newId: () => string;
  log: Log;
}
