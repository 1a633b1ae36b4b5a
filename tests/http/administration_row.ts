import type { contracts } from "../../contracts/mod.ts";
import type * as sdk from "../../openapi/client/mod.ts";

type Options = { client: sdk.Gateway };

/** One operation of `contracts.admin`: how it is called, what it notes, and how it goes wrong. */
export interface Row {
  /** By the generated client; throws `GatewayError`. Later rows find what earlier ones made. */
  call: (options: Options) => Promise<unknown>;
  /** Looks at the answer. */
  answer: (data: never) => void;
  /** Actions and subjects of the entries in the audit log, newest first; none for reads. */
  notes?: readonly (readonly [action: string, subject: string | RegExp, accountId?: number])[];
  /** Wrong calls: the code, what the message has to name, and the call. */
  wrong?: readonly (readonly [code: string, names: RegExp, call: Row["call"]])[];
}

export type Rows = Readonly<Record<keyof typeof contracts.admin, Row>>;

export const none = { account_id: 4711 };
export const noAccount = /^account_id: no account has the id 4711/;
export const noKey = { id: "0197e0c2-a3f0-7c41-9d2e-000000000000" };
