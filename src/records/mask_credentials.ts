import { parseExactly } from "../base/exact_json.ts";
import {
  type Edit,
  itemsAt,
  membersAtSteps,
  skipSpace,
  splice,
  type TextRange,
} from "../base/json_text.ts";
import { pushAll } from "../base/lists.ts";
import { finish, includesInSteps, type Steps } from "../base/steps.ts";
import type { CredentialField } from "../dialects/kernel/credential_field.ts";

const mask = "***";

/**
 * Replaces the fields' values in a payload (JSON text) by a mask; all other text stays as it is.
 * Of addresses the host stays.
 */
export function* maskCredentialsSteps(
  text: string,
  fields: readonly CredentialField[],
): Steps<string> {
  const edits: Edit[] = [];
  for (const field of yield* fieldsIn(text, fields)) {
    for (const { start, end } of yield* valuesOf(text, field)) {
      const masked = maskedValue(text.slice(start, end), field);
      if (masked !== undefined) edits.push({ start, end, text: masked });
    }
  }
  return edits.length === 0 ? text : splice(text, edits);
}

/** Whether a recorded payload lacks a credential, so that its request can't be sent again. */
export function lacksCredentials(text: string, fields: readonly CredentialField[]): boolean {
  return finish(fieldsIn(text, fields)).some((field) =>
    finish(valuesOf(text, field)).some(({ start, end }) => text.slice(start, end).endsWith(maskEnd))
  );
}

const maskEnd = `${mask}"`;

/** Returns the fields of which the text has the longest name: most texts have none. */
function* fieldsIn(
  text: string,
  fields: readonly CredentialField[],
): Steps<readonly CredentialField[]> {
  const present = new Map<string, boolean>();
  const found: CredentialField[] = [];
  for (const field of fields) {
    const name = field.path.reduce((longest, one) => one.length > longest.length ? one : longest);
    const isPresent = present.get(name) ?? (yield* includesInSteps(text, name));
    present.set(name, isPresent);
    if (isPresent) found.push(field);
  }
  return found;
}

function maskedValue(json: string, { isAddress }: CredentialField): string | undefined {
  if (json === "null") return undefined;
  if (!isAddress) return JSON.stringify(mask);
  const value = parseExactly(json);
  const url = typeof value === "string" ? URL.parse(value) : null;
  if (!url) return JSON.stringify(mask);
  const isBare = [url.username, url.password, url.search, url.hash].every((part) => part === "") &&
    url.pathname === "/";
  return isBare ? undefined : JSON.stringify(`${url.protocol}//${url.host}/${mask}`);
}

function* valuesOf(text: string, { path }: CredentialField): Steps<TextRange[]> {
  let found: TextRange[] = [{ start: skipSpace(text, 0), end: text.length }];
  for (const name of path) {
    const next: TextRange[] = [];
    for (const range of found) pushAll(next, yield* valuesIn(text, range, name));
    found = next;
  }
  return found;
}

function* valuesIn(text: string, range: TextRange, name: string): Steps<TextRange[]> {
  if (text[range.start] === "[") return name === "*" ? yield* itemsAt(text, range) : [];
  const members = (yield* membersAtSteps(text, range.start))?.members;
  if (members === undefined) return [];
  const values = name === "*" ? [...members.values()] : [members.get(name)];
  return values.flatMap((member) =>
    member === undefined ? [] : [{ start: member.valueStart, end: member.valueEnd }]
  );
}
