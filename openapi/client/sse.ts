/** One event of a `text/event-stream`. */
export interface ServerSentEvent {
  /** The event's name, if it has one. */
  readonly event: string | undefined;
  /** Its `data:` lines, joined. */
  readonly data: string;
}

/**
 * Yields events as they arrive; comments are skipped. An event that the stream's end cuts off is
 * yielded incomplete. Stopping the iteration closes the connection.
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

/** Yields lines, which end with `\n`, `\r\n` or `\r`, and the rest after the last one. */
async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void> {
  /** Pieces of the current line, kept apart so that each is searched only once. */
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

/** Yields the text of a body, piece by piece. */
export async function* readText(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<string, void> {
  const decoder = new TextDecoder();
  for await (const bytes of readBytes(body)) yield decoder.decode(bytes, { stream: true });
  const end = decoder.decode();
  if (end !== "") yield end;
}

/** Yields the bytes of a body. Uses a reader, since not every browser can iterate over streams. */
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
