import { parseExactly } from "../base/exact_json.ts";
import { sha256Hex } from "../base/hash.ts";
import { invalidValue } from "../shared/fault.ts";
import type { ListPosition } from "../shared/interaction.ts";

/**
 * Returns an opaque cursor for the next page of a list. It holds a digest of `scope`, the list's
 * account and filters, so it can't be used in another list.
 */
export function writeCursor(scope: unknown, { createdAt, transactionId }: ListPosition): string {
  const position = [createdAt.getTime(), transactionId];
  const text = JSON.stringify([...position, digestOf(scope, position)]);
  return new TextEncoder().encode(text).toBase64({ alphabet: "base64url", omitPadding: true });
}

/**
 * Reads a cursor. Throws `invalid_value` for a text that `writeCursor` didn't write for this scope.
 */
export function readCursor(scope: unknown, cursor: string): ListPosition {
  const found = parse(cursor);
  if (found && found.digest === digestOf(scope, found.position)) {
    const [ms, transactionId] = found.position;
    return { createdAt: new Date(ms), transactionId };
  }
  throw invalidValue(
    "cursor",
    "expected the next_cursor of a page of this account, with the same filters",
  );
}

type Position = readonly [ms: number, transactionId: string];

function digestOf(scope: unknown, position: readonly unknown[]): string {
  return sha256Hex(JSON.stringify([scope, position])).slice(0, 24);
}

function parse(cursor: string): { position: Position; digest: string } | undefined {
  try {
    const bytes = Uint8Array.fromBase64(cursor, { alphabet: "base64url" });
    const value: unknown = parseExactly(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    const [ms, transactionId, digest] = Array.isArray(value) ? value : [];
    if (!Number.isSafeInteger(ms) || typeof transactionId !== "string") return undefined;
    return { position: [ms, transactionId], digest: String(digest) };
  } catch {
    return undefined;
  }
}
