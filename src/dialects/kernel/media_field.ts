import { type JsonRecord, recordsIn } from "./json.ts";

/**
 * A field of a wire format that holds inline media, as base64 or a `data:` address, so that records
 * can store large media separately.
 */
export interface MediaField {
  /** Member that holds the media. */
  readonly key: string;
  /** Member that holds the object, directly or in an array; absent: any. */
  readonly parent?: string;
  /** Whether it is normally a `data:` address, though bare base64 occurs too. */
  readonly address?: true;
  /** Stored separately whatever its size, because callers get its address instead of the data. */
  readonly always?: true;
  readonly mimeType?: string;
  /** Sibling member with a format such as `wav`, which `audio/` is prepended to. */
  readonly audioFormat?: string;
  /** A sibling member, and the value that it must have. */
  readonly where?: readonly [key: string, value: string];
}

/** Whether the field matches a string with this key, in an object with this parent. */
export function isMediaField(
  field: MediaField,
  location: { readonly key: string; readonly parent: string },
): boolean {
  return location.key === field.key &&
    (field.parent === undefined || location.parent === field.parent);
}

/** Whether one of the answer's lists has an item with media, inline or by address. */
export function hasMedia(answer: JsonRecord, fields: readonly MediaField[]): boolean {
  return Object.entries(answer).some(([parent, list]) =>
    recordsIn(list).some((item) =>
      fields.some((field) => isMediaField(field, { key: field.key, parent }) && !!item[field.key])
    )
  );
}
