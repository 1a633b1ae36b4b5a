import { sha256Hex } from "../../base/hash.ts";
import {
  cutStringPrefix,
  type Edit,
  locateIn,
  splice,
  topLevelMembers,
} from "../../base/json_text.ts";
import type { FormPart } from "../../base/multipart.ts";
import { type PromptTags, readTags } from "../../shared/prompt_tags.ts";
import type { VendorState } from "./hosted.ts";
import { formatPath, invalidValue } from "./fields.ts";
import { asString, isRecord, type JsonRecord } from "./json.ts";
import type { JsonObjectText, JsonPath, Operation } from "./operation.ts";

/** A request as it was sent, as JSON or as a form. */
export type SentRequest =
  | {
    readonly body: unknown;
    readonly text: string;
    /** The model that the path names; absent: the body's. */
    readonly model?: string | undefined;
  }
  | { readonly form: SentForm };

export interface SentForm {
  readonly bytes: Uint8Array;
  /** With the boundary. */
  readonly contentType: string;
  readonly parts: readonly FormPart[];
}

/** A request of an operation, whichever way its body was written. */
export interface OperationRequest {
  readonly sent: SentRequest;
  /** Members of the object, or the form's text fields; several of one name as an array. */
  readonly fields: JsonRecord;
  /** A form's files. */
  readonly files: readonly FormPart[];
  /** The service's model name, as the caller wrote it. */
  readonly model: string;
  readonly stream: boolean;
  readonly endUser: string | undefined;
  readonly tags: PromptTags;
  /** How much of the prompt's text is tag lines, in UTF-16 units. */
  readonly tagUnits: number;
}

type Prompted = Pick<Operation, "promptPath">;

/** Reads a request that has passed its contract. `promptPath` is where tags may stand. */
export function readOperation(sent: SentRequest, { promptPath }: Prompted): OperationRequest {
  const fields = "form" in sent ? textFields(sent.form.parts) : sent.body as JsonRecord;
  const prompt = promptPath && valueAt(fields, promptPath);
  const named = promptPath && formatPath(promptPath);
  const { tags, length } = typeof prompt === "string"
    ? readTags(prompt, named)
    : { tags: {}, length: 0 };
  if (length > 0 && length === (prompt as string).length) {
    throw invalidValue(named!, "the prompt contains only tag lines");
  }
  // What is further in nobody reads again.
  const isField = promptPath?.length === 1 && length > 0;
  return {
    sent,
    fields: isField ? { ...fields, [promptPath[0]]: (prompt as string).slice(length) } : fields,
    files: "form" in sent ? sent.form.parts.filter(isFile) : [],
    model: modelOf(sent),
    stream: fields.stream === true || fields.stream === "true",
    endUser: asString(fields.safety_identifier) ?? asString(fields.user),
    tags,
    tagUnits: length,
  };
}

/** The model that a request names. */
export function modelOf(sent: SentRequest): string {
  if ("form" in sent) return String(textFields(sent.form.parts).model);
  return sent.model ?? String((sent.body as JsonRecord).model);
}

/** A form's text fields as an object; several of one name become an array. */
export function textFields(parts: readonly FormPart[]): Record<string, unknown> {
  return gather(parts.filter((part) => !isFile(part)), textOf);
}

/** A form as an object for its contract: text fields as text, files as what is known of them. */
export function formFields(parts: readonly FormPart[]): Record<string, unknown> {
  return gather(
    parts,
    (part) =>
      isFile(part)
        ? {
          filename: part.filename ?? "",
          content_type: part.contentType,
          bytes: part.content.length,
        }
        : textOf(part),
  );
}

/** The request as its vendor gets it: the model's name exchanged, tag lines cut, all else as it is. */
export function forVendor(
  request: OperationRequest,
  model: string,
  { promptPath, modelEdits = memberModel }: Pick<Operation, "promptPath" | "modelEdits">,
): string | readonly Uint8Array[] {
  const { sent, tagUnits } = request;
  if ("form" in sent) return formForVendor(request, sent.form, model, promptPath?.[0]);
  const { text } = sent;
  const top = topLevelMembers(text);
  // It passed its contract, so it is an object.
  if (top === undefined) return text;
  // Of two members of one name we and the vendor might each believe another.
  const twice = top.duplicates[0];
  if (twice !== undefined) throw invalidValue(twice, "duplicate field");
  const edits = modelEdits({ text, top }, request, model);
  const prompt = promptPath && tagUnits > 0 ? locateIn(text, top, promptPath) : undefined;
  if (prompt) edits.push(cutStringPrefix(text, prompt, tagUnits));
  return edits.length === 0 ? text : splice(text, edits);
}

function memberModel(json: JsonObjectText, request: OperationRequest, model: string): Edit[] {
  const named = model === request.model ? undefined : locateIn(json.text, json.top, ["model"]);
  return named ? [{ ...named, text: JSON.stringify(model) }] : [];
}

/**
 * The request's JSON text for the record; a form's files stand in it as base64, or as what
 * `written` gives for them.
 */
export function recordText(
  { sent }: OperationRequest,
  written: (file: FormPart) => unknown = () => undefined,
): string {
  if (!("form" in sent)) return sent.text;
  return JSON.stringify(gather(sent.form.parts, (part) =>
    isFile(part)
      ? {
        filename: part.filename ?? null,
        content_type: part.contentType ?? null,
        data: written(part) ?? part.content.toBase64(),
      }
      : textOf(part)));
}

/** What two sendings of the same request have in common, though a form's boundary differs. */
export function repeatText(sent: SentRequest): string {
  if (!("form" in sent)) return sent.text;
  return JSON.stringify(sent.form.parts.map((part) => [
    part.name,
    part.filename ?? null,
    part.contentType ?? null,
    sha256Hex(part.content),
  ]));
}

function formForVendor(
  { tagUnits, ...request }: OperationRequest,
  { bytes, parts }: SentForm,
  model: string,
  promptField: string | undefined,
): readonly Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let from = 0;
  const exchange = ({ start, end }: FormPart, text: string) => {
    pieces.push(bytes.subarray(from, start), new TextEncoder().encode(text));
    from = end;
  };
  for (const part of parts) {
    if (isFile(part)) continue;
    if (part.name === "model" && model !== request.model) exchange(part, model);
    if (part.name === promptField && tagUnits > 0) exchange(part, textOf(part).slice(tagUnits));
  }
  return [...pieces, bytes.subarray(from)];
}

function gather(
  parts: readonly FormPart[],
  valueOf: (part: FormPart) => unknown,
): Record<string, unknown> {
  const lists = Map.groupBy(parts, ({ name }) => name);
  return Object.fromEntries(
    [...lists].map(([name, list]) => {
      if (list.length > 1 && !repeatable(name)) throw invalidValue(name, "duplicate field");
      return [name, list.length === 1 ? valueOf(list[0]!) : list.map(valueOf)];
    }),
  );
}

/** Lists are written by repetition; what decides route and price may stand there once. */
function repeatable(name: string): boolean {
  return name.endsWith("]") || !(once.includes(name) || /_format$/.test(name));
}

const once: readonly string[] = ["model", "prompt", "stream", "n", "size", "quality"]
  .concat(["user", "safety_identifier"]);

function valueAt(fields: JsonRecord, path: JsonPath): unknown {
  let value: unknown = fields;
  for (const step of path) {
    if (typeof step === "number") value = Array.isArray(value) ? value[step] : undefined;
    else value = isRecord(value) ? value[step] : undefined;
  }
  return value;
}

function isFile({ filename, contentType }: FormPart): boolean {
  return filename !== undefined || (contentType !== undefined && !/^text\//i.test(contentType));
}

function textOf({ content }: FormPart): string {
  return new TextDecoder().decode(content);
}

/** Pictures and masks by the id of a file that the vendor keeps. */
export function filesNamed(fields: JsonRecord): VendorState[] {
  const found: VendorState[] = [];
  const look = (value: unknown, path: string) => {
    if (isRecord(value) && asString(value.file_id) !== undefined) {
      found.push({ path: `${path}.file_id` });
    }
  };
  for (const name of ["image", "images", "mask"]) {
    const value = fields[name];
    if (Array.isArray(value)) value.forEach((one, index) => look(one, `${name}[${index}]`));
    else look(value, name);
  }
  return found;
}

/** An object out of JSON text; undefined when it is none. */
export function parsedRecord(text: string): JsonRecord | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
