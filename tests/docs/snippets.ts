/** A block of code in a page, as a reader would copy it. */
export interface Snippet {
  readonly language: string;
  /** Whether the page promises that it works unchanged: ` ```sh run `. */
  readonly runs: boolean;
  /** Whether `deno task agents` runs it: ` ```sh agent=NAME `. */
  readonly isOfAgent: boolean;
  readonly line: number;
  readonly text: string;
}

/** The fenced blocks of a page of Markdown. */
export function snippetsOf(page: string): Snippet[] {
  const found: Snippet[] = [];
  const lines = page.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const [, fence, language = "", mark = ""] = /^(```+)(\w*) ?(\S*)$/.exec(lines[at]!) ?? [];
    if (fence === undefined) continue;
    const end = lines.indexOf(fence, at + 1);
    if (end < 0) throw new Error(`The block of line ${at + 1} has no end.`);
    const text = lines.slice(at + 1, end).join("\n");
    const isOfAgent = mark.startsWith("agent=");
    found.push({ language, runs: mark === "run", isOfAgent, line: at + 1, text });
    at = end;
  }
  return found;
}

/** The README and the pages of `docs/` and `docs/tasks/`, by their paths from the repository's root. */
export function pagePaths(root: string): string[] {
  const folders = ["docs", "docs/decisions", "docs/tasks"];
  const pages = folders.flatMap((folder) =>
    [...Deno.readDirSync(root + folder)].map(({ name }) => `${folder}/${name}`)
  );
  return ["README.md", ...pages.filter((path) => path.endsWith(".md")).sort()];
}

/** Relative addresses that a page links to or shows, without those in its code. */
export function linksOf(page: string): string[] {
  const prose = page.replace(/^(```+)[^\n]*\n.*?^\1$/gms, "").replace(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, address]) => address!)
    .filter((address) => !/^[a-z]+:/.test(address));
}

/** Anchors of a page's headings, as they are made where the page is shown. */
export function anchorsOf(page: string): string[] {
  return [...page.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
  );
}
