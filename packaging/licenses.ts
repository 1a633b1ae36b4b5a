/** The licenses of the packages whose code a bundle contains, which most of them require to be kept. */
import { relative } from "node:path";

/** Where the bundler has found packages: in Deno's cache of the machine that bundles. */
export interface PackageCache {
  readonly path: string;
  /** The same as comments of bundled code have it: relative to the folder bundled in. */
  readonly written: string;
}

export async function packageCache(bundledIn: string): Promise<PackageCache> {
  const info = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { npmCache } = JSON.parse(new TextDecoder().decode(info.stdout));
  const path = await Deno.realPath(npmCache);
  return { path, written: relative(await Deno.realPath(bundledIn), path).replaceAll("\\", "/") };
}

/** Removes from bundled code where the cache is: it names the person who bundles. */
export function withoutCachePath(code: string, { written }: PackageCache): string {
  return code.replaceAll(`${written}/`, "npm/");
}

/** Returns the packages whose code is here, each as its path in the cache; see `withoutCachePath`. */
export function packagesIn(code: string): string[] {
  const found = code.matchAll(/(?:\/\/ |")npm\/([\w.-]+\/(?:@[\w.-]+\/)?[\w.-]+\/[\w.-]+)\//g);
  return [...new Set([...found].map(([, path = ""]) => path))];
}

/** Returns one text with the licenses of these packages; those with the same one share it. */
export async function licensesOf(
  packages: Iterable<string>,
  { path: cache }: PackageCache,
): Promise<string> {
  const sharers = new Map<string, string[]>();
  for (const path of [...packages].toSorted()) {
    const text = await licenseIn(`${cache}/${path}`);
    const [, name] = /^[^/]+\/(.*)$/.exec(path)!;
    sharers.set(text, [...sharers.get(text) ?? [], name!.replace(/\/(?=[^/]*$)/, " ")]);
  }
  if (sharers.size === 0) throw new Error("no package was found in the bundled code");
  // Compiled into `@electric-sql/pglite`, which has only its own.
  sharers.set((await Deno.readTextFile(postgresLicense)).trim(), ["PostgreSQL"]);
  const sections = [...sharers].map(([text, names]) => `${rule}\n${names.join("\n")}\n\n${text}\n`);
  return `This program contains code of the packages below, under these licenses.\n\n${
    sections.join("\n")
  }`;
}

const postgresLicense = new URL("POSTGRESQL_LICENSE", import.meta.url);
const rule = "=".repeat(80);

/** The texts that come with a package, or else what its `package.json` says. */
async function licenseIn(folder: string): Promise<string> {
  const names: string[] = [];
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (isFile && /^(?:un)?(?:licen[cs]e|copying|notice)/i.test(name)) names.push(name);
  }
  const texts = names.toSorted().map((name) => Deno.readTextFile(`${folder}/${name}`));
  if (texts.length > 0) return (await Promise.all(texts)).map((text) => text.trim()).join("\n\n");
  const { license, author } = JSON.parse(await Deno.readTextFile(`${folder}/package.json`));
  if (typeof license !== "string") throw new Error(`${folder} has no license`);
  const by = typeof author === "string" ? author : author?.name;
  return by === undefined ? license : `${license}\nCopyright ${by}`;
}
