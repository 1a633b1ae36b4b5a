import type {
  MediaPart,
  Opaque,
  Part,
  ReasoningPart,
  TextPart,
  UnsupportedField,
} from "../../../kernel/canonical_request.ts";
import { invalidValue, missingField } from "../../../../shared/fault.ts";
import { base64Source, plainMime, standardBase64 } from "../../../kernel/media_source.ts";
import { carriedSignature } from "../../../kernel/reasoning.ts";
import { readCacheMark } from "../../../kernel/read_cache_mark.ts";
import { markedCallId } from "./call_mark.ts";
import { isOwnFile, isVideoAddress } from "../media.ts";
import { type Fields } from "./fields.ts";

/** The list that collects unsupported fields, and defaults of the request. */
export interface PartContext {
  unsupported: UnsupportedField[];
  /** Detail of images without one of their own (`generationConfig.mediaResolution`). */
  detail: string | undefined;
}

/** A part has exactly one of these members. */
const dataMembers = [
  "text",
  "inlineData",
  "fileData",
  "functionCall",
  "functionResponse",
  "executableCode",
  "codeExecutionResult",
  "toolCall",
  "toolResponse",
] as const;

type DataMember = typeof dataMembers[number];

/**
 * The data member of a part; undefined for a type that is newer than this code. A part with just a
 * signature, or without members, is an empty text: client libraries that omit empty strings send
 * such parts back.
 */
export function dataMember(part: Fields): DataMember | undefined {
  const found = dataMembers.filter((name) => part.has(name));
  if (found.length === 1) return found[0]!;
  if (found.length === 0) return isEmptyPart(part) ? "text" : undefined;
  throw invalidValue(part.path, `expected exactly one of ${dataMembers.slice(0, 5).join(", ")}`);
}

/** Whether a part is an empty text: it has no members except those that may accompany one. */
export function isEmptyPart({ record }: Fields): boolean {
  return Object.entries(record).every(([name, value]) =>
    value === null || name === "thought" || name === "thoughtSignature" ||
    name === "thought_signature"
  );
}

/**
 * Reads a part other than a call or a result; undefined if it is empty or has no canonical form.
 */
export function readPart(part: Fields, member: DataMember, context: PartContext): Part | undefined {
  noteUnsupported(part, context);
  switch (member) {
    case "inlineData":
      return readBlob(part, context);
    case "fileData":
      return readFile(part, context);
    case "executableCode":
      return asCodeBlock(part.object(member)!, "code", part.path);
    case "codeExecutionResult":
      return asCodeBlock(part.object(member)!, "output", part.path);
    case "toolCall":
    case "toolResponse":
      context.unsupported.push({
        path: part.at(member),
        value: part.value(member),
        weight: "hint",
      });
      return undefined;
    default:
      return readText(part);
  }
}

export function readSignature(part: Fields): { opaque?: Opaque } {
  const value = carriedSignature(part.string("thoughtSignature"));
  return value === undefined || markedCallId(value) !== undefined
    ? {}
    : { opaque: { dialect: "generate", kind: "thoughtSignature", value } };
}

function readText(part: Fields): TextPart | ReasoningPart | undefined {
  const type = part.boolean("thought") === true ? "reasoning" : "text";
  const text = part.string("text") ?? "";
  const signature = readSignature(part);
  if (text === "" && signature.opaque === undefined) return undefined;
  const mark = type === "text" ? readCacheMark(part.record, part.path) : {};
  return { type, text, ...signature, ...mark, path: part.path };
}

/** Reads `inlineData` of a part, or of an item in a function result. */
export function readBlob(part: Fields, context: PartContext): MediaPart {
  const blob = part.object("inlineData")!;
  const value = blob.string("data");
  if (value === undefined) throw missingField(blob.at("data"));
  const data = standardBase64(value);
  if (data === undefined) throw invalidValue(blob.at("data"), "expected base64");
  const source = base64Source(data, blob.string("mimeType"));
  return { ...mediaPart(part, source.mimeType, blob, context), source };
}

/**
 * Reads `fileData` of a part, or of an item in a function result: a file stored at the vendor, or
 * an address.
 */
export function readFile(part: Fields, context: PartContext): MediaPart {
  const file = part.object("fileData")!;
  const uri = file.string("fileUri");
  if (uri === undefined || uri === "") throw missingField(file.at("fileUri"));
  const declared = file.string("mimeType");
  const mimeType = declared === undefined || declared === "" ? undefined : plainMime(declared);
  const isVideo = mimeType === undefined && isVideoAddress(uri);
  return {
    ...mediaPart(part, isVideo ? "video/" : mimeType ?? "", file, context),
    source: /^https?:\/\//.test(uri) && !isOwnFile(uri)
      ? { type: "url", url: uri, mimeType }
      : { type: "vendor-file", id: uri, mimeType },
  };
}

function mediaPart(
  part: Fields,
  mimeType: string,
  data: Fields,
  context: PartContext,
): Omit<MediaPart, "source"> {
  const kind = /^(image|audio|video)\//.exec(mimeType)?.[1] as MediaPart["kind"] | undefined;
  const name = data.string("displayName");
  const own = readDetail(part);
  const detail = kind === "image" ? own ?? context.detail : undefined;
  const detailPath = own === undefined
    ? "generationConfig.mediaResolution"
    : part.at("mediaResolution");
  return {
    type: "media",
    kind: kind ?? "file",
    ...(name === undefined ? {} : { name }),
    ...(detail === undefined ? {} : { detail }),
    ...readCacheMark(part.record, part.path),
    ...(name === undefined && detail === undefined ? {} : {
      fieldPaths: {
        ...(name === undefined ? {} : { name: data.at("displayName") }),
        ...(detail === undefined ? {} : { detail: detailPath }),
      },
    }),
    path: part.path,
  };
}

/**
 * Reads `mediaResolution` of a part; medium is the default in other dialects, so it is left out.
 */
function readDetail(part: Fields): string | undefined {
  const value = part.value("mediaResolution");
  if (value === undefined) return undefined;
  return detailOf(
    typeof value === "string" ? value : part.object("mediaResolution")!.string("level"),
  );
}

export function detailOf(resolution: string | undefined): string | undefined {
  if (resolution === undefined) return undefined;
  if (resolution.endsWith("_LOW")) return "low";
  return resolution.endsWith("_HIGH") ? "high" : undefined;
}

/**
 * Writes the code that the vendor's interpreter ran, or its output, as text: later turns refer to
 * it.
 */
function asCodeBlock(value: Fields, member: string, path: string): TextPart {
  const language = member === "code" ? (value.string("language") ?? "").toLowerCase() : "";
  const outcome = value.string("outcome") ?? "OUTCOME_OK";
  // The output of a run that failed may be like that of another, or empty.
  const failure = isSuccess(outcome) ? "" : `\n${outcome}`;
  const text = `\`\`\`${language}\n${value.string(member) ?? ""}\n\`\`\`${failure}`;
  return { type: "text", text, path };
}

function isSuccess(outcome: string): boolean {
  return outcome === "OUTCOME_OK" || outcome === "OUTCOME_UNSPECIFIED";
}

function noteUnsupported(part: Fields, context: PartContext): void {
  if (part.has("videoMetadata")) {
    context.unsupported.push({
      path: part.at("videoMetadata"),
      value: part.value("videoMetadata"),
      weight: "meaning",
    });
  }
}
