import { type ErrorDialect, fullPath } from "../../contracts/kernel/contract.ts";
import type { DialectName, VendorFamily } from "../../contracts/calls/vendors.ts";

/**
 * Returns the dialect of a request's errors: that of the path's endpoint, else the family's first
 * dialect. What is left below `/chat/v1` belongs to all libraries (the model list, and endpoints
 * that aren't offered): there the headers decide, if they have been read.
 */
export type ErrorDialectOf = (
  path: string,
  header?: (name: string) => string | undefined,
) => ErrorDialect;

export function createErrorDialect(families: readonly VendorFamily[]): ErrorDialectOf {
  const byPrefix = new Map(
    families.flatMap((family) =>
      [family.label, ...family.aliases].map((name) => [name, family.dialects[0]!] as const)
    ),
  );
  return (path, header = () => undefined) => {
    if (googleOnly.test(path)) return "generate";
    const prefix = fullPath(path).split("/", 2)[1] ?? "";
    const family = byPrefix.get(prefix);
    if (prefix === "imagen" || prefix === "tts") return "chat";
    if (!family && prefix !== "chat") return "service";
    return endpoints.find(([, endpoint]) => endpoint.test(path))?.[0] ?? family ??
      libraryDialect(header);
  };
}

/** Anthropic's and Google's libraries read their own errors. */
function libraryDialect(header: (name: string) => string | undefined): ErrorDialect {
  if (header("anthropic-version") !== undefined) return "messages";
  return header("x-goog-api-key") !== undefined ? "generate" : "chat";
}

/**
 * Where Google's libraries upload files and open live sessions. Neither is offered; they send their
 * own key header and read their own errors.
 */
const googleOnly = /^(\/chat)?\/(upload\/v1(beta|alpha)?\/|ws\/google\.ai\.)/;

/** Paths of each dialect's endpoints; the first match counts. */
const endpointOf: Readonly<Record<DialectName, RegExp>> = {
  messages: /\/messages(\/|$)/,
  responses: /\/responses(\/|$)/,
  // Methods of models, even unknown ones, and everything below `/v1beta`.
  generate: /:[a-zA-Z]+$|^(\/chat)?\/v1beta\//,
  chat: /\/(chat\/completions|embeddings)$/,
};

const endpoints = Object.entries(endpointOf) as [DialectName, RegExp][];
