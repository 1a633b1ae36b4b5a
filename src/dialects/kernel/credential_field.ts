import { isRecord } from "./json.ts";

/**
 * A value in requests by which the vendor reaches another service in the caller's name, such as the
 * token of an MCP server. Neither records nor our own answers have it.
 */
export interface CredentialField {
  /**
   * Names of members; `*` stands for each item of an array, or member of an object, and at the end
   * for a text in their place, too: a vendor refuses it, but it is recorded.
   */
  readonly path: readonly string[];
  /** Whether it is an address: its host is recorded, but not its path, which may be a secret. */
  readonly isAddress?: true;
}

/** What the masked value of every credential ends with. */
export const credentialMask = "***";

/** Returns what is recorded instead of a credential. */
export function maskedCredential(value: unknown, { isAddress }: CredentialField): unknown {
  if (value === null) return null;
  const url = isAddress && typeof value === "string" ? URL.parse(value) : null;
  if (!url) return credentialMask;
  const isBare = [url.username, url.password, url.search, url.hash].every((part) => part === "") &&
    url.pathname === "/";
  return isBare ? value : `${url.protocol}//${url.host}/${credentialMask}`;
}

/** Returns the value with its credentials masked. */
export function withMaskedCredentials(
  value: unknown,
  fields: readonly CredentialField[],
): unknown {
  return fields.reduce(
    (rest, field) => changedAt(rest, field.path, (one) => maskedCredential(one, field)),
    value,
  );
}

function changedAt(
  value: unknown,
  [name, ...rest]: readonly string[],
  change: (value: unknown) => unknown,
): unknown {
  if (name === undefined) return change(value);
  const within = (one: unknown) => changedAt(one, rest, change);
  if (Array.isArray(value)) return name === "*" ? value.map(within) : value;
  if (typeof value === "string" && name === "*" && rest.length === 0) return change(value);
  if (!isRecord(value)) return value;
  if (name !== "*") {
    return Object.hasOwn(value, name) ? { ...value, [name]: within(value[name]) } : value;
  }
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, within(one)]));
}
