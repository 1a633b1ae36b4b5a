import { adminScope } from "../../contracts/kernel/contract.ts";

/** Scopes that only owners may give to a key. */
const ownerScopes: ReadonlySet<string> = new Set(["data:delete", adminScope]);

/**
 * Returns those of the scopes that the account's keys may have: only the first account's may have
 * `admin`.
 */
export function accountScopes(scopes: readonly string[], isFirstAccount: boolean): string[] {
  return isFirstAccount ? [...scopes] : scopes.filter((scope) => scope !== adminScope);
}

/** Returns those of the scopes that a person who is not an owner may give. */
export function memberScopes(scopes: readonly string[]): string[] {
  return scopes.filter((scope) => !ownerScopes.has(scope));
}

/**
 * Whether a key with these scopes has any that only owners may give; an empty list means all
 * scopes.
 */
export function requiresOwner(scopes: readonly string[]): boolean {
  return scopes.length === 0 || scopes.some((scope) => ownerScopes.has(scope));
}
