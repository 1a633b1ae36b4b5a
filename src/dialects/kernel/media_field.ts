/**
 * A place of a wire format where media stands in the text itself, as base64 or as a `data:`
 * address. In its object, so that records can keep large media apart from the text.
 */
export interface MediaField {
  /** Member that holds the media. */
  readonly key: string;
  /** Member whose value (or whose array's element) the object is; any when absent. */
  readonly parent?: string;
  /** It is a `data:` address by rule, though bare base64 is seen there too. */
  readonly address?: true;
  /** It is kept apart however small it is: others reach it by its address. */
  readonly always?: true;
  /** Member beside it that holds the mime type. */
  readonly mimeType?: string;
  /** Member beside it that holds a format such as `wav`; `audio/` is put in front. */
  readonly audioFormat?: string;
  /** A member beside it, and the value it must have. */
  readonly where?: readonly [key: string, value: string];
}

/** Whether a string with this key, in an object with this parent, is at the field's place. */
export function isMediaField(
  field: MediaField,
  location: { readonly key: string; readonly parent: string },
): boolean {
  return location.key === field.key &&
    (field.parent === undefined || location.parent === field.parent);
}
