import { adminScope } from "../../contracts/kernel/contract.ts";

/** Scopes that only owners may give to a key, whoever asks for them. */
const ownerScopes: ReadonlySet<string> = new Set(["data:delete", adminScope]);

/** Of these the ones that a key of the account may have: `admin` is for the first account's alone. */
export function accountScopes(scopes: readonly string[], isFirstAccount: boolean): string[] {
  return isFirstAccount ? [...scopes] : scopes.filter((scope) => scope !== adminScope);
}

/** Of these the ones that somebody who is not an owner may give. */
export function memberScopes(scopes: readonly string[]): string[] {
  return scopes.filter((scope) => !ownerScopes.has(scope));
}

/** Whether a key with these scopes may do what only owners may give: no scope at all is every one. */
export function requiresOwner(scopes: readonly string[]): boolean {
  return scopes.length === 0 || scopes.some((scope) => ownerScopes.has(scope));
}
