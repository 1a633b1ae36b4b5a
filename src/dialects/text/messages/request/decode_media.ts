import { Buffer } from "node:buffer";
import type { MediaPart, TextPart } from "../../../kernel/canonical_request.ts";
import { invalidValue } from "../../../../shared/fault.ts";
import { objectAt, stringAt, textAt } from "../../../kernel/fields.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { base64Source, standardBase64 } from "../../../kernel/media_source.ts";
import { readCacheMark } from "../../../kernel/read_cache_mark.ts";

export function readImage(block: JsonRecord, path: string): MediaPart {
  const source = sourceOf(block, path);
  return {
    type: "media",
    kind: "image",
    source: readSource(source, `${path}.source`, undefined) ??
      unknownSource(`${path}.source.type`),
    ...readCacheMark(block, path),
    path,
  };
}

/** Reads a `document` block: a file, or the content blocks that it consists of. */
export function readDocument(block: JsonRecord, path: string): (TextPart | MediaPart)[] {
  const source = sourceOf(block, path);
  const name = textAt(block, "title", path);
  const named = name === undefined ? {} : { name, fieldPaths: { name: `${path}.title` } };
  const file = (found: MediaPart["source"]): MediaPart => ({
    type: "media",
    kind: "file",
    source: found,
    ...named,
    ...readCacheMark(block, path),
    path,
  });
  if (source.type === "text") {
    return [file(plainText(stringAt(source, "data", `${path}.source`)))];
  }
  if (source.type === "content") return readContentSource(source.content, path, file);
  return [
    file(
      readSource(source, `${path}.source`, "application/pdf") ??
        unknownSource(`${path}.source.type`),
    ),
  ];
}

/** Reads a `search_result` block as one text: title, source and texts. */
export function readSearchResult(block: JsonRecord, path: string): TextPart {
  const texts = Array.isArray(block.content) ? block.content : [];
  const lines = [
    stringAt(block, "title", path),
    stringAt(block, "source", path),
    "",
    ...texts.map((one: unknown) => isRecord(one) && typeof one.text === "string" ? one.text : ""),
  ];
  return { type: "text", text: lines.join("\n"), ...readCacheMark(block, path), path };
}

function readSource(
  source: JsonRecord,
  path: string,
  mimeHint: string | undefined,
): MediaPart["source"] | undefined {
  switch (source.type) {
    case "base64": {
      const data = standardBase64(stringAt(source, "data", path));
      if (!data) throw invalidValue(`${path}.data`, "expected base64");
      return base64Source(data, textAt(source, "media_type", path) ?? mimeHint);
    }
    case "url":
      return { type: "url", url: stringAt(source, "url", path), mimeType: mimeHint };
    case "file":
      return {
        type: "vendor-file",
        id: stringAt(source, "file_id", path),
        mimeType: undefined,
      };
    default:
      return undefined;
  }
}

function readContentSource(
  content: unknown,
  path: string,
  file: (found: MediaPart["source"]) => MediaPart,
): (TextPart | MediaPart)[] {
  if (typeof content === "string") return [file(plainText(content))];
  if (!Array.isArray(content)) {
    throw invalidValue(`${path}.source.content`, "expected a string or an array of blocks");
  }
  return content.map((block: unknown, index): TextPart | MediaPart => {
    const at = `${path}.source.content[${index}]`;
    if (!isRecord(block)) throw invalidValue(at, "expected an object");
    if (block.type === "image") return readImage(block, at);
    return { type: "text", text: stringAt(block, "text", at), path: at };
  });
}

function sourceOf(block: JsonRecord, path: string): JsonRecord {
  const source = objectAt(block, "source", path);
  if (!source) throw invalidValue(`${path}.source`, "expected an object");
  return source;
}

function plainText(text: string): MediaPart["source"] {
  return { type: "base64", mimeType: "text/plain", data: Buffer.from(text).toString("base64") };
}

function unknownSource(path: string): never {
  throw invalidValue(path, "expected 'base64', 'url' or 'file'");
}
