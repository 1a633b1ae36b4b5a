import { parseExactly } from "../base/exact_json.ts";
import {
  type Edit,
  itemsAt,
  listMembers,
  skipSpace,
  spliceSteps,
  type TextRange,
} from "../base/json_text.ts";
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
  for (const { start, end, field } of yield* credentialsIn(text, fields)) {
    if ((edits.length + 1) % valuesPerStep === 0) yield;
    const value = end - start > maxReadUnits ? undefined : parseExactly(text.slice(start, end));
    const masked = maskedCredential(value, field);
    if (masked !== value) edits.push({ start, end, text: JSON.stringify(masked) });
  }
  return edits.length === 0 ? text : yield* spliceSteps(text, edits);
}

/** Whether a recorded payload lacks a credential, so that its request can't be sent again. */
export function lacksCredentials(text: string, fields: readonly CredentialField[]): boolean {
  return finish(credentialsIn(text, fields)).some(({ start, end }) =>
    text.slice(start, end).endsWith(maskEnd)
  );
}

const maskEnd = `${credentialMask}"`;

/** Longer values are masked unread, addresses too. */
const maxReadUnits = 8 * 1024;

const valuesPerStep = 256;

interface Credential extends TextRange {
  readonly field: CredentialField;
}

/** The paths of all fields, which are followed in one walk. */
interface FieldTree {
  field?: CredentialField;
  readonly inside: Map<string, FieldTree>;
}

interface Search {
  readonly text: string;
  readonly found: Credential[];
  passed: number;
}

function* credentialsIn(text: string, fields: readonly CredentialField[]): Steps<Credential[]> {
  const present = yield* fieldsIn(text, fields);
  const search: Search = { text, found: [], passed: 0 };
  const whole = { start: skipSpace(text, 0), end: text.length };
  if (present.length > 0) yield* searchAt(search, treeOf(present), whole);
  return search.found;
}

/** Returns the fields of which the text has all names: most texts have none. */
function* fieldsIn(
  text: string,
  fields: readonly CredentialField[],
): Steps<readonly CredentialField[]> {
  if (yield* hasEscapedLetters(text)) return fields;
  const present = new Map<string, boolean>([["*", true]]);
  const found: CredentialField[] = [];
  for (const field of fields) {
    if (yield* hasAll(text, field.path, present)) found.push(field);
  }
  return found;
}

function* hasAll(
  text: string,
  names: readonly string[],
  present: Map<string, boolean>,
): Steps<boolean> {
  for (const name of names) {
    const isPresent = present.get(name) ?? (yield* includesInSteps(text, name));
    present.set(name, isPresent);
    if (!isPresent) return false;
  }
  return true;
}

/** Whether a name may be written otherwise, such as `\u0061uthorization`. */
function* hasEscapedLetters(text: string): Steps<boolean> {
  if (!(yield* includesInSteps(text, "\\u00"))) return false;
  for (const row of ["4", "5", "6", "7"]) {
    if (yield* includesInSteps(text, `\\u00${row}`)) return true;
  }
  return false;
}

function treeOf(fields: readonly CredentialField[]): FieldTree {
  const root: FieldTree = { inside: new Map() };
  for (const field of fields) {
    let tree = root;
    for (const name of field.path) {
      const inner: FieldTree = tree.inside.get(name) ?? { inside: new Map() };
      tree.inside.set(name, inner);
      tree = inner;
    }
    tree.field = field;
  }
  return root;
}

function* searchAt(search: Search, { field, inside }: FieldTree, range: TextRange): Steps<void> {
  if (++search.passed % valuesPerStep === 0) yield;
  if (field) search.found.push({ ...range, field });
  if (inside.size === 0) return;
  const { text } = search;
  if (text[range.start] === "[") {
    const each = inside.get("*");
    if (!each) return;
    for (const item of yield* itemsAt(text, range)) yield* searchAt(search, each, item);
    return;
  }
  const inText = text[range.start] === '"' ? inside.get("*")?.field : undefined;
  if (inText) search.found.push({ ...range, field: inText });
  const object = yield* listMembers(text, range.start);
  // A repeated name is recorded with each of its values.
  for (const { key, valueStart: start, valueEnd: end } of object?.members ?? []) {
    if (++search.passed % valuesPerStep === 0) yield;
    const named = inside.get(key);
    const each = key === "*" ? undefined : inside.get("*");
    for (const tree of [named, each]) {
      if (tree) yield* searchAt(search, tree, { start, end });
    }
  }
}
