import { parseExactly } from "../base/exact_json.ts";
import { sha256Steps } from "../base/hash.ts";
import { copyOf } from "../base/own_text.ts";
import { longStringsSteps, type PlacedString } from "../base/json_strings.ts";
import { type Edit, type Members, membersAt, splice } from "../base/json_text.ts";
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
}

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
  const least = options.fields.some(({ always }) => always)
    ? minUnits
    : Math.floor(options.inlineBytes * 4 / 3);
  let siblings: ReturnType<typeof siblingsIn> | undefined;
  for (const found of longStringsSteps(text, least)) {
    if (found === undefined) yield;
    if (found === undefined || found.depth > maxDepth) continue;
    const field = options.fields.find((field) => isMediaField(field, found));
    if (!field) continue;
    siblings ??= siblingsIn(text);
    const one = yield* readMedia(text, found, field, {
      inlineBytes: field.always ? 0 : options.inlineBytes,
      beside: siblings(found),
    });
    if (!one) continue;
    media ??= new Map();
    media.set(one.sha256, one);
    const named = JSON.stringify(namedMedia(one));
    edits.push({ start: found.start, end: found.end, text: named });
  }
  if (media === undefined) return { text, media: [] };
  // A copy, since slices hold the whole original text, media included, in memory.
  return { text: copyOf(splice(text, edits)), media: [...media.values()] };
}

/** Returns what replaces media in a payload. */
export function namedMedia({ sha256, content, mimeType }: Media) {
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
  { inlineBytes, beside }: { inlineBytes: number; beside: Sibling },
): Steps<Media | undefined> {
  if (field.where && beside(field.where[0]) !== field.where[1]) return undefined;
  const value = stringAt(text, found);
  // Our own media paths consist of base64 characters too.
  if (value === undefined || value.startsWith(mediaPath(""))) return undefined;
  const address = /^data:([^,]*?);base64,/i.exec(value.slice(0, maxAddressHead));
  if (!address && value.startsWith("data:")) return undefined;
  const data = address ? value.slice(address[0].length) : value;
  const content = yield* base64BytesSteps(data);
  if (content === undefined || content.length <= inlineBytes) return undefined;
  const format = field.audioFormat === undefined ? undefined : beside(field.audioFormat);
  const declaredType = address?.[1] ||
    (field.mimeType === undefined ? undefined : beside(field.mimeType)) ||
    (format === undefined ? undefined : `audio/${format}`);
  return yield* mediaOf(content, declaredType);
}

function* mediaOf(content: Uint8Array, declaredType: string | undefined): Steps<Media> {
  // The first bytes decide the type.
  const head = content.subarray(0, 48).toBase64();
  return {
    sha256: yield* sha256Steps(content),
    mimeType: base64Source(head, declaredType).mimeType,
    content,
  };
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
