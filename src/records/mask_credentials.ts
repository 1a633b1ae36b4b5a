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
import {
  type CredentialField,
  credentialMask,
  maskedCredential,
} from "../dialects/kernel/credential_field.ts";

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
      const value = parseExactly(text.slice(start, end));
      const masked = maskedCredential(value, field);
      if (masked !== value) edits.push({ start, end, text: JSON.stringify(masked) });
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

const maskEnd = `${credentialMask}"`;

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
