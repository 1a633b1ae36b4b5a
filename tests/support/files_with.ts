import { Buffer } from "node:buffer";

/**
 * Returns the files below a directory that contain any of the texts: in UTF-8, in UTF-16, or
 * escaped as in JSON.
 */
export async function filesWith(directory: string, texts: readonly string[]): Promise<string[]> {
  const wanted = texts.flatMap((text) => [
    Buffer.from(text),
    Buffer.from(JSON.stringify(text).slice(1, -1)),
    Buffer.from(text, "utf16le"),
  ]).map((bytes) => bytes.toString("latin1"));
  return await filesWithAny(directory, [...new Set(wanted)]);
}

/** Searches strings with a character for each byte: in buffers, the runtime searches far slower. */
async function filesWithAny(directory: string, wanted: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = `${directory}/${name}`;
    if (isDirectory) {
      found.push(...await filesWithAny(path, wanted));
      continue;
    }
    const bytes = await Deno.readFile(path).catch(() => new Uint8Array());
    const characters = Buffer.from(bytes.buffer).toString("latin1");
    if (wanted.some((one) => characters.includes(one))) found.push(path);
  }
  return found;
}
