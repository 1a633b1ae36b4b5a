import { parseExactly } from "../base/exact_json.ts";
import { sha256Steps } from "../base/hash.ts";
import { copyOf } from "../base/own_text.ts";
import { longStringsSteps, type PlacedString } from "../base/json_strings.ts";
import { type Edit, type Members, membersAt, splice, type TextRange } from "../base/json_text.ts";
import { isMediaField, type MediaField } from "../dialects/kernel/media_field.ts";
import { finish, type Steps } from "../base/steps.ts";
import { base64BytesSteps, base64Source } from "../dialects/kernel/media_source.ts";
import { type Media, mediaPath } from "../shared/media.ts";

/** Shorter strings are not media. */
const minUnits = 32;

/**
 * Takes media of more than `inlineBytes` out of a payload (JSON text), and replaces the base64 or
 * `data:` address by `{sha256, bytes, mime_type, url}`; all other text stays as it is. Returns each
 * medium once. Invalid base64, and text that isn't JSON, are left alone.
 */
export function externalizeMedia(text: string, options: ExternalizeOptions): Externalized {
  return finish(externalizeMediaSteps(text, options));
}

interface ExternalizeOptions {
  readonly inlineBytes: number;
  readonly fields: readonly MediaField[];
  /** The files that placeholders in the text stand for. Their base64 replaces those that stay. */
  readonly files?: AnswerFiles;
}

/** The files of a JSON text by their placeholders in it, in their order. */
export type AnswerFiles = ReadonlyMap<string, Media>;

/** Random base64, which nobody can have put into the text. */
export function placeholder(): string {
  return crypto.getRandomValues(new Uint8Array(24)).toBase64();
}

const placeholderUnits = 32;

interface Externalized {
  text: string;
  media: Media[];
}

export function* externalizeMediaSteps(
  text: string,
  options: ExternalizeOptions,
): Steps<Externalized> {
  if (options.fields.length === 0) return { text, media: [] };
  const edits: Edit[] = [];
  // Made when needed: few texts hold media, and each call's texts are scanned twice.
  let media: Map<string, Media> | undefined;
  const { files, fields, inlineBytes } = options;
  const least = files || fields.some(({ always }) => always)
    ? minUnits
    : Math.floor(inlineBytes * 4 / 3);
  let siblings: ReturnType<typeof siblingsIn> | undefined;
  for (const found of longStringsSteps(text, least)) {
    if (found === undefined) yield;
    if (found === undefined) continue;
    const file = files && fileAt(text, found, files);
    const field = found.depth > maxDepth
      ? undefined
      : fields.find((field) => isMediaField(field, found));
    siblings ??= siblingsIn(text);
    const one = field && (yield* readMedia(text, found, field, {
      inlineBytes: field.always ? 0 : inlineBytes,
      beside: siblings(found),
      file,
    }));
    if (!one) {
      if (file) edits.push({ ...found, text: `"${file.content.toBase64()}"` });
      continue;
    }
    media ??= new Map();
    media.set(one.sha256, one);
    const named = JSON.stringify(namedMedia(one));
    edits.push({ start: found.start, end: found.end, text: named });
  }
  if (edits.length === 0) return { text, media: [] };
  // A copy, since slices hold the whole original text, media included, in memory.
  return { text: copyOf(splice(text, edits)), media: [...media?.values() ?? []] };
}

function fileAt(text: string, { start, end }: TextRange, files: AnswerFiles): Media | undefined {
  if (end - start - 2 !== placeholderUnits) return undefined;
  return files.get(text.slice(start + 1, end - 1));
}

/** Returns what replaces media in a payload. */
function namedMedia({ sha256, content, mimeType }: Media) {
  return { sha256, bytes: content.length, mime_type: mimeType, url: mediaPath(sha256) };
}

/** Does the same for a file that was sent as bytes: it never becomes base64. */
export function* externalizeFile(
  content: Uint8Array,
  declaredType: string | undefined,
): Steps<{ media: Media; named: unknown }> {
  const media = yield* mediaOf(content, declaredType);
  return { media, named: namedMedia(media) };
}

function* readMedia(
  text: string,
  found: PlacedString,
  field: MediaField,
  { inlineBytes, beside, file }: {
    inlineBytes: number;
    beside: Sibling;
    file: Media | undefined;
  },
): Steps<Media | undefined> {
  if (field.where && beside(field.where[0]) !== field.where[1]) return undefined;
  const value = stringAt(text, found);
  // Our own media paths consist of base64 characters too.
  if (value === undefined || value.startsWith(mediaPath(""))) return undefined;
  const address = /^data:([^,]*?);base64,/i.exec(value.slice(0, maxAddressHead));
  if (!address && value.startsWith("data:")) return undefined;
  const data = address ? value.slice(address[0].length) : value;
  const content = file?.content ?? (yield* base64BytesSteps(data));
  if (content === undefined || content.length <= inlineBytes) return undefined;
  const format = field.audioFormat === undefined ? undefined : beside(field.audioFormat);
  const declaredType = address?.[1] ||
    (field.mimeType === undefined ? undefined : beside(field.mimeType)) ||
    (format === undefined ? undefined : `audio/${format}`);
  return file
    ? { ...file, mimeType: typeOf(content, declaredType) }
    : yield* mediaOf(content, declaredType);
}

function* mediaOf(content: Uint8Array, declaredType: string | undefined): Steps<Media> {
  const mimeType = typeOf(content, declaredType);
  return { sha256: yield* sha256Steps(content), mimeType, content };
}

/** The first bytes decide. */
function typeOf(content: Uint8Array, declaredType: string | undefined): string {
  return base64Source(content.subarray(0, 48).toBase64(), declaredType).mimeType;
}

/** Longest part of a `data:` address before the data. */
const maxAddressHead = 512;

/** Reads short string members of the object that holds the value. */
function siblingsIn(text: string): (found: PlacedString) => Sibling {
  const parsedObjects = new Map<number, Members | undefined>();
  const membersOf = (object: number) => {
    if (!parsedObjects.has(object)) parsedObjects.set(object, membersAt(text, object));
    return parsedObjects.get(object)?.members;
  };
  return ({ object }) => (key) => {
    const member = object === undefined ? undefined : membersOf(object)?.get(key);
    if (!member || member.valueEnd - member.valueStart > maxAddressHead) return undefined;
    return stringAt(text, { start: member.valueStart, end: member.valueEnd });
  };
}

/** Reads a short string member of the object that holds the media. */
type Sibling = (key: string) => string | undefined;

/** No dialect nests media deeper; looking up siblings costs one scan for each level. */
const maxDepth = 32;

function stringAt(text: string, { start, end }: { start: number; end: number }) {
  const inner = text.slice(start + 1, end - 1);
  if (text[start] !== '"' || text[end - 1] !== '"') return undefined;
  if (!inner.includes("\\")) return inner;
  try {
    return parseExactly(text.slice(start, end)) as string;
  } catch {
    return undefined;
  }
}
