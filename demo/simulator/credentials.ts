import { type Exchange } from "./exchange.ts";
import { Problem } from "./problem.ts";

const CREDENTIAL_HEADERS = [
  "authorization",
  "x-api-key",
  "x-goog-api-key",
  "api-key",
  "cookie",
  "proxy-authorization",
];

/**
 * Throws a 400 Problem when a request carries a credential that is not this vendor's: any header or
 * query with a service key, or another credential header than `ownCarrier`. Values are not repeated.
 */
export function refuseForeignCredentials(exchange: Exchange, ownCarrier: string): void {
  for (const [name, value] of exchange.headers) {
    const isForeign = CREDENTIAL_HEADERS.includes(name) && name !== ownCarrier;
    if (isForeign || value.includes("dmt_")) throw leaked(`header ${name}`);
  }
  if (exchange.url.search.includes("dmt_")) throw leaked("query");
}

/** The key of an `Authorization: Bearer` header, or null. */
export function bearerKey(exchange: Exchange): string | null {
  return exchange.headers.get("authorization")?.match(/^Bearer (\S+)$/)?.[1] ?? null;
}

function leaked(where: string): Problem {
  return new Problem(400, `The ${where} carries a credential that is not for this vendor.`, {
    code: "foreign_credential",
  });
}
