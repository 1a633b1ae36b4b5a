/** One event of a `text/event-stream`. */
export interface ServerSentEvent {
  /** Its name; undefined where it has none. */
  readonly event: string | undefined;
  /** Its `data:` lines, joined. */
  readonly data: string;
}

/**
 * Reads events as they come; comments are skipped. An event that the end cuts is given as far as it
 * came. Whoever stops reading closes the connection.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<ServerSentEvent, void> {
  let event: string | undefined;
  let data: string[] = [];
  for await (const line of readLines(body)) {
    if (line === "") {
      if (data.length > 0) yield { event, data: data.join("\n") };
      event = undefined;
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event = value;
    if (field === "data") data.push(value);
  }
  if (data.length > 0) yield { event, data: data.join("\n") };
}

/** Lines that end with `\n`, `\r\n` or `\r`, and what stands after the last of them. */
async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  /** The line under way in its pieces: what was looked through isn't looked through again. */
  let rest: string[] = [];
  let held = "";
  for await (const piece of readText(body)) {
    const text = held + piece;
    // A `\r` at the end may be half of a `\r\n`.
    held = text.endsWith("\r") ? "\r" : "";
    const lines = text.slice(0, text.length - held.length).split(/\r\n|\n|\r/);
    for (const line of lines.splice(0, lines.length - 1)) {
      yield rest.join("") + line;
      rest = [];
    }
    rest.push(lines[0]!);
  }
  const last = rest.join("") + held;
  if (last !== "") yield* last.split(/\r\n|\n|\r/);
}

/** The text of a body, piece by piece. */
export async function* readText(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  for await (const bytes of readBytes(body)) yield decoder.decode(bytes, { stream: true });
  const end = decoder.decode();
  if (end !== "") yield end;
}

/** With a reader: not every browser iterates over streams. */
export async function* readBytes(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}
