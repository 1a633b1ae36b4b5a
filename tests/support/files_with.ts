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
  ]);
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = `${directory}/${name}`;
    if (isDirectory) {
      found.push(...await filesWith(path, texts));
      continue;
    }
    const bytes = await Deno.readFile(path).catch(() => new Uint8Array());
    if (wanted.some((one) => Buffer.from(bytes.buffer).includes(one))) found.push(path);
  }
  return found;
}
