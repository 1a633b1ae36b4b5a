import { sha256Steps } from "../../base/hash.ts";
import {
  cutStringPrefix,
  type Edit,
  locateInSteps,
  spliceSteps,
  topLevelMembersSteps,
} from "../../base/json_text.ts";
import type { FormPart } from "../../base/multipart.ts";
import { finish, mapInSteps, type Steps } from "../../base/steps.ts";
import { writeJson } from "../../base/write_json.ts";
import { type PromptTags, readPromptTags } from "../../shared/prompt_tags.ts";
import { invalidValue } from "../../shared/fault.ts";
import { formatPath } from "./fields.ts";
import { readSafetyUser } from "./safety_user.ts";
import { isRecord, type JsonRecord, jsonValue } from "./json.ts";
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

export interface OperationRequest {
  readonly sent: SentRequest;
  /** The object's members, or the form's text fields; repeated names become arrays. */
  readonly fields: JsonRecord;
  readonly files: readonly FormPart[];
  /** The service's model name, as the caller wrote it. */
  readonly model: string;
  readonly stream: boolean;
  readonly endUser: string | undefined;
  /** The field that names the end user. */
  readonly endUserField?: string;
  readonly tags: PromptTags;
  /** Length of the prompt's tag lines in UTF-16 units. */
  readonly tagUnits: number;
}

type Prompted = Pick<Operation, "promptPath">;

/**
 * Reads a request that has passed its contract. `promptPath`: the text that may start with tags.
 */
export function readOperation(sent: SentRequest, { promptPath }: Prompted): OperationRequest {
  const fields = "form" in sent ? textFields(sent.form.parts) : sent.body as JsonRecord;
  const prompt = promptPath && valueAt(fields, promptPath);
  const { tags, length } = typeof prompt === "string"
    ? readPromptTags(prompt, formatPath(promptPath!))
    : { tags: {}, length: 0 };
  // Nested prompts aren't read from `fields` later, so that their tags may stay.
  const isField = promptPath?.length === 1 && length > 0;
  return {
    sent,
    fields: isField ? { ...fields, [promptPath[0]]: (prompt as string).slice(length) } : fields,
    files: "form" in sent ? sent.form.parts.filter(isFile) : [],
    model: modelOf(sent),
    stream: fields.stream === true || fields.stream === "true",
    ...readSafetyUser(fields),
    tags,
    tagUnits: length,
  };
}

export function modelOf(sent: SentRequest): string {
  if ("form" in sent) {
    return String(textFields(sent.form.parts.filter(({ name }) => name === "model")).model);
  }
  return sent.model ?? String((sent.body as JsonRecord).model);
}

/** A form's text fields as an object; repeated names become arrays. */
function textFields(parts: readonly FormPart[]): Record<string, unknown> {
  return gather(parts.filter((part) => !isFile(part)), textOf);
}

/** A form as an object for its contract: text fields as text, files as their metadata. */
export function formFields(parts: readonly FormPart[]): Record<string, unknown> {
  const file = parts.find((part) => isFile(part) && !repeatable(part.name));
  if (file) throw invalidValue(file.name, "expected text, not a file");
  refuseLongTexts(parts);
  return gather(parts, (part) =>
    isFile(part)
      ? {
        filename: part.filename ?? "",
        content_type: part.contentType,
        bytes: part.content.length,
      }
      : textOf(part));
}

/**
 * More than vendors take. The fields are read several times, each time at once. Data addresses are
 * such as `known_speaker_references[]`: four recordings of ten seconds each.
 */
const maxFieldBytes = { text: 1024 * 1024, "data addresses": 16 * 1024 * 1024 };

function refuseLongTexts(parts: readonly FormPart[]): void {
  const bytes = { text: 0, "data addresses": 0 };
  for (const part of parts) {
    if (isFile(part)) continue;
    const kind = repeatable(part.name) && isDataAddress(part) ? "data addresses" : "text";
    bytes[kind] += part.content.length;
    if (bytes[kind] <= maxFieldBytes[kind]) continue;
    const most = maxFieldBytes[kind].toLocaleString("en-US");
    throw invalidValue(part.name, `more than ${most} bytes of ${kind} in the form's fields`);
  }
}

function isDataAddress({ content }: FormPart): boolean {
  return new TextDecoder().decode(content.subarray(0, "data:".length)) === "data:";
}

/** The request for the vendor: the model replaced, tag lines cut, everything else unchanged. */
export function* forVendor(
  request: OperationRequest,
  model: string,
  { promptPath, modelEdits = memberModel }: Pick<Operation, "promptPath" | "modelEdits">,
): Steps<string | readonly Uint8Array[]> {
  const { sent, tagUnits } = request;
  if ("form" in sent) return formForVendor(request, sent.form, model, promptPath?.[0]);
  const { text } = sent;
  const top = yield* topLevelMembersSteps(text);
  // Never happens: the text has passed its contract, so it is an object.
  if (top === undefined) return text;
  const edits = yield* modelEdits({ text, top }, request, model);
  const prompt = promptPath && tagUnits > 0
    ? yield* locateInSteps(text, top, promptPath)
    : undefined;
  if (prompt) edits.push(cutStringPrefix(text, prompt, tagUnits));
  return edits.length === 0 ? text : yield* spliceSteps(text, edits);
}

function* memberModel(
  { text, top }: JsonObjectText,
  request: OperationRequest,
  model: string,
): Steps<Edit[]> {
  const named = model === request.model ? undefined : yield* locateInSteps(text, top, ["model"]);
  return named ? [{ ...named, text: JSON.stringify(model) }] : [];
}

/**
 * The request's JSON text for the record, written in steps; a form's files are written as base64,
 * or as what `written` returns for them.
 */
export function* recordSteps(
  { sent }: Pick<OperationRequest, "sent">,
  written: (file: FormPart) => unknown = () => undefined,
): Steps<string> {
  if (!("form" in sent)) return sent.text;
  const { parts } = sent.form;
  const values = yield* mapInSteps(parts, (part) =>
    isFile(part)
      ? {
        filename: part.filename ?? null,
        content_type: part.contentType ?? null,
        data: written(part) ?? part.content.toBase64(),
      }
      : textOf(part), 1);
  const valueOf = new Map(parts.map((part, index) => [part, values[index]]));
  return yield* writeJson(gather(parts, (part) => valueOf.get(part)));
}

/** The same at once. */
export function recordText(request: Pick<OperationRequest, "sent">): string {
  return finish(recordSteps(request));
}

/**
 * Returns a text that is the same for repeated requests, though the boundaries of their forms
 * differ.
 */
export function* repeatText(sent: SentRequest): Steps<string> {
  if (!("form" in sent)) return sent.text;
  const parts: (string | null)[][] = [];
  for (const { name, filename = null, contentType = null, content } of sent.form.parts) {
    parts.push([name, filename, contentType, yield* sha256Steps(content)]);
    yield;
  }
  return JSON.stringify(parts);
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
  return Object.fromEntries([...lists].map(([name, list]) => {
    if (list.length > 1 && !repeatable(name)) throw invalidValue(name, "duplicate field");
    return [name, list.length === 1 ? valueOf(list[0]!) : list.map(valueOf)];
  }));
}

/**
 * Whether a form may repeat the field, which makes it a list. Fields that decide routing and price
 * may occur only once.
 */
function repeatable(name: string): boolean {
  return name.endsWith("]") || !(once.includes(name) || /_format$/.test(name));
}

const once: readonly string[] = ["model", "prompt", "stream", "n", "size", "quality"]
  .concat(["user", "safety_identifier", "frame_count", "partial_images"]);

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

/** Parses a JSON object; undefined if the text isn't one. */
export function parsedRecord(text: string): JsonRecord | undefined {
  const value = jsonValue(text);
  return isRecord(value) ? value : undefined;
}
