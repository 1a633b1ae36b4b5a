/** A kind of call, and how many callers make it at once. */
export interface Cell {
  /** The name for `--cells`. */
  name: string;
  title: string;
  connections: number;
  isStreamed: boolean;
  /** Whether the caller speaks another dialect than the vendor. */
  isTranslated: boolean;
  /** Returns the body for a model's name, in the caller's dialect. */
  body(model: string): string;
  /** The same in the vendor's dialect, for contenders that only forward bytes. */
  vendorBody: string;
}

const model = "gpt-4.1";
const prompt = "Say a word two hundred times. ".repeat(20);

function bodyOf(more: Readonly<Record<string, unknown>>, content = prompt): string {
  return JSON.stringify({ ...more, max_tokens: 300, messages: [{ role: "user", content }] });
}

function cell(
  name: string,
  title: string,
  connections: number,
  { streamed = false, isTranslated = false, bytes = 0 } = {},
): Cell {
  const content = bytes === 0
    ? prompt
    : prompt.repeat(Math.ceil(bytes / prompt.length)).slice(0, bytes);
  const more = streamed ? { stream: true } : {};
  return {
    name,
    title,
    connections,
    isStreamed: streamed,
    isTranslated,
    body: (named) => bodyOf({ model: named, ...more }, content),
    vendorBody: bodyOf({ model, ...more }, content),
  };
}

export const cells: readonly Cell[] = [
  cell("whole", "whole, passed through", 32),
  cell("translated", "whole, translated", 32, { isTranslated: true }),
  cell("stream", "200 chunks, passed through", 16, { streamed: true }),
  cell("stream-translated", "200 chunks, translated", 16, { streamed: true, isTranslated: true }),
  cell("one", "one call at a time", 1),
  cell("1k", "body of 1 KB", 32, { bytes: 1024 }),
  cell("64k", "body of 64 KB", 32, { bytes: 64 * 1024 }),
  cell("1m", "body of 1 MB", 8, { bytes: 1024 * 1024 }),
];
