import type {
  MediaPart,
  RefusalPart,
  TextPart,
  UnsupportedField,
} from "../../../kernel/canonical_request.ts";
import { invalidValue, missingField } from "../../../../shared/fault.ts";
import { requiredText, textAt } from "../../../kernel/fields.ts";
import { defined } from "../../../../base/defined.ts";
import type { JsonRecord } from "../../../kernel/json.ts";
import { dataSource, imageOrFile, mediaSource, readSound } from "../../../kernel/media_source.ts";
import { readCacheMark } from "../../../kernel/read_cache_mark.ts";
import { readElements } from "../../../kernel/read_content.ts";

export type ContentPart = TextPart | MediaPart | RefusalPart;

/**
 * Reads the content of a message or of a tool output: a string or parts. Parts of unknown types go
 * to `unsupported`.
 */
export function readContent(
  content: unknown,
  path: string,
  unsupported: UnsupportedField[],
): ContentPart[] {
  if (content === undefined || content === null) throw missingField(path);
  return readElements(content, path, "parts", (part, at) => readPart(part, at, unsupported));
}

function readPart(
  part: JsonRecord,
  path: string,
  unsupported: UnsupportedField[],
): ContentPart | readonly [] {
  switch (part.type) {
    // Clients send an assistant's text back under either type.
    case "input_text":
    case "output_text":
      if (typeof part.text !== "string") throw invalidValue(`${path}.text`, "expected a string");
      return { type: "text", text: part.text, ...readCacheMark(part, path), path };
    case "refusal":
      return { type: "refusal", text: textAt(part, "refusal", path) ?? "", path };
    case "input_image":
      return readImage(part, path);
    case "input_file":
      return readFile(part, path);
    case "input_audio":
      return readSound(part.input_audio, `${path}.input_audio`, path);
    default:
      if (typeof part.type !== "string") {
        throw invalidValue(`${path}.type`, "expected the type of a part");
      }
      unsupported.push({ path, value: part, weight: "meaning" });
      return [];
  }
}

function readImage(part: JsonRecord, path: string): MediaPart {
  const detail = textAt(part, "detail", path);
  const extra = { ...defined({ detail }), ...readCacheMark(part, path), path };
  const id = textAt(part, "file_id", path);
  const url = textAt(part, "image_url", path);
  if (url === undefined) {
    if (id === undefined) throw missingField(`${path}.image_url`);
    return { type: "media", kind: "image", source: vendorFile(id), ...extra };
  }
  const source = mediaSource(url);
  if (!source) {
    throw invalidValue(
      `${path}.image_url`,
      "expected an https URL or a data URL with valid base64",
    );
  }
  return { type: "media", kind: imageOrFile(source), source, ...extra };
}

function readFile(part: JsonRecord, path: string): MediaPart {
  const name = textAt(part, "filename", path);
  const detail = textAt(part, "detail", path);
  const fieldPaths = name === undefined ? undefined : { name: `${path}.filename` };
  const extra = { ...defined({ name, detail, fieldPaths }), ...readCacheMark(part, path), path };
  const id = textAt(part, "file_id", path);
  if (id !== undefined) return { type: "media", kind: "file", source: vendorFile(id), ...extra };
  const url = textAt(part, "file_url", path);
  if (url !== undefined) {
    const source = mediaSource(url);
    if (!source) throw invalidValue(`${path}.file_url`, "expected an https URL");
    return { type: "media", kind: "file", source, ...extra };
  }
  const source = dataSource(requiredText(part, "file_data", path));
  if (!source) throw invalidValue(`${path}.file_data`, "expected a data URL with valid base64");
  return { type: "media", kind: "file", source, ...extra };
}

function vendorFile(id: string): MediaPart["source"] {
  return { type: "vendor-file", id, mimeType: undefined };
}
