/**
 * A value in requests by which the vendor reaches another service in the caller's name, such as the
 * token of an MCP server. Records don't have it.
 */
export interface CredentialField {
  /** Names of members; `*` stands for each item of an array, or member of an object. */
  readonly path: readonly string[];
  /** Whether it is an address: its host is recorded, but not its path, which may be a secret. */
  readonly isAddress?: true;
}
