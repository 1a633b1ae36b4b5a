/** Longest text that a command takes from standard input. */
const maxInputBytes = 64 * 1024;

/**
 * What standard input holds, for a command that takes a secret: arguments would be seen by
 * everyone on the machine. Throws an Error when it is longer than any secret.
 */
export async function readInput(source: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  for await (const chunk of source) {
    length += chunk.length;
    if (length > maxInputBytes) {
      throw new Error(`standard input: expected at most ${maxInputBytes} bytes`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
