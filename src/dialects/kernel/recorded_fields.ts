import type { CredentialField } from "./credential_field.ts";
import type { MediaField } from "./media_field.ts";

/** The fields of requests and answers that are recorded differently from how they were sent. */
export interface RecordedFields {
  /** Those that hold inline media. */
  readonly mediaFields: readonly MediaField[];
  /** Those that hold credentials. */
  readonly credentialFields: readonly CredentialField[];
}
