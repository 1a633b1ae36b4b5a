/** A request that is about to be written. */
export interface RequestHead {
  readonly method: string;
  /** Path and query, as a URL writes them. */
  readonly path: string;
  /** With the port, unless that is the protocol's default. */
  readonly host: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Whether the connection is kept afterwards. */
  readonly keeps: boolean;
}

/** A request that HTTP can't carry; nothing of it is quoted. */
export class MalformedRequest extends Error {
  readonly code = malformedRequestCode;

  constructor() {
    super("The request does not fit HTTP/1.1");
  }
}

export const malformedRequestCode = "malformed_request";

const token = /^[\w!#$%&'*+\-.^`|~]+$/;
const target = /^\/[\x21-\x7e]*$/;
const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Returns the request line and fields as text, one byte per UTF-16 unit. Throws `MalformedRequest`
 * for values that could be read as something else.
 */
export function writeRequestHead({ method, path, host, headers, keeps }: RequestHead): string {
  if (!token.test(method) || !target.test(path)) throw new MalformedRequest();
  let text = `${method} ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: ${
    keeps ? "keep-alive" : "close"
  }\r\n`;
  for (const name in headers) {
    const value = headers[name]!;
    if (!token.test(name) || !fieldValue.test(value)) throw new MalformedRequest();
    text += `${name}: ${value}\r\n`;
  }
  return text + "\r\n";
}
