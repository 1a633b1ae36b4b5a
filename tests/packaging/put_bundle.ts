import { bundle } from "../../packaging/bundle.ts";

/** Puts a bundle of the program at `folder`: a copy of the one that the gate has made, where it has. */
export async function putBundle(folder: string): Promise<void> {
  const made = Deno.env.get("TEST_BUNDLE");
  if (made === undefined) return await bundle(folder);
  copyFolder(made, folder);
}

function copyFolder(from: string, to: string): void {
  Deno.mkdirSync(to);
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    if (isDirectory) copyFolder(`${from}/${name}`, `${to}/${name}`);
    else Deno.copyFileSync(`${from}/${name}`, `${to}/${name}`);
  }
}
