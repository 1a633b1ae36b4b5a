/** A part of a form: text, or a file. */
export type FormField =
  | { readonly name: string; readonly text: string }
  | {
    readonly name: string;
    readonly fileName: string;
    readonly mimeType: string;
    readonly content: Uint8Array;
  };

/**
 * A `multipart/form-data` body in pieces (RFC 7578), so that no file is copied. `boundary` must
 * occur in none of the parts, as random digits don't; names must be without quotes and line breaks.
 */
export function formBody(
  fields: readonly FormField[],
  boundary: string,
): { contentType: string; pieces: Uint8Array[] } {
  const encoder = new TextEncoder();
  const pieces = fields.flatMap((field) => {
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${field.name}"`;
    if ("text" in field) return [encoder.encode(`${head}\r\n\r\n${field.text}\r\n`)];
    const { fileName, mimeType, content } = field;
    return [
      encoder.encode(`${head}; filename="${fileName}"\r\ncontent-type: ${mimeType}\r\n\r\n`),
      content,
      encoder.encode("\r\n"),
    ];
  });
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    pieces: [...pieces, encoder.encode(`--${boundary}--\r\n`)],
  };
}
