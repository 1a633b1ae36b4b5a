/** The prose of the pages: the terms of the field, and texts that agree with the product. */
import assert from "@std/assert";
import { logEvents } from "../../src/main/log_events.ts";
import { pagePaths } from "./snippets.ts";

const root = decodeURIComponent(new URL("../..", import.meta.url).pathname);
const pages = pagePaths(root);

/** Words that pages don't use, and what they use instead. */
const refused: readonly (readonly [RegExp, string])[] = [
  [/\bpictures?\b/gi, "image"],
  [/\b(?:set|sets|setting) aside\b/gi, "reserve"],
  [/\b(?:base|redirect|signed|public|service's|vendor) address\b/gi, "URL"],
  [/\btold\b/gi, "reported"],
  [/\bdear(?:er|est)?\b/gi, "expensive"],
  [/\banew\b/gi, "again"],
  [/\b(?:is|be|are) had\b/gi, "get, read"],
  [/\blook(?:s|ed|ing)? at\b/gi, "check, read"],
  [/\bwhat (?:comes|came|becomes|became) of\b/gi, "result, outcome"],
  [/(?:^|[.:;] )who (?:is|takes|doesn't|sees|comes|skips|has)\b(?![^.]*\?)/gim, "a subject"],
  [/\bknocks?\b/gi, "health check"],
  [/, quiet\b/gi, "nothing else running"],
  [/\bmend(?:s|ed|ing)?\b/gi, "repair, fix"],
  [/\bby the book\b/gi, "as specified"],
  [/\bon purpose\b/gi, "deliberately"],
  [/\bworked on\b/gi, "processed"],
];

/** A page without its code and the targets of its links. */
function proseOf(page: string): string {
  const text = page.replace(/^(```+)[^\n]*\n.*?^\1$/gms, "").replace(/`[^`]*`/g, "`…`");
  return text.replace(/\]\([^)]*\)/g, "]").replace(/\s+/g, " ");
}

Deno.test("pages have the field's terms", () => {
  const found = pages.flatMap((path) => {
    const prose = proseOf(Deno.readTextFileSync(root + path));
    return refused.flatMap(([word, instead]) =>
      [...prose.matchAll(word)].map(({ 0: text, index }) =>
        `${path}: "${text}" (${instead}): …${prose.slice(Math.max(0, index - 40), index + 40)}…`
      )
    );
  });
  assert.deepEqual(found, []);
});

Deno.test("every log message that a page quotes is one that the service writes", () => {
  const messages = Object.keys(logEvents);
  let quotes = 0;
  for (const path of pages) {
    const page = Deno.readTextFileSync(root + path).replace(/^(```+)[^\n]*\n.*?^\1$/gms, "");
    for (const [, quoted] of page.matchAll(/\b(?:log says|line|logs)\s+`(\w[^`]* [^`]*)`/g)) {
      const text = quoted!.replace(/\s+/g, " ");
      assert.ok(messages.some((message) => message.startsWith(text)), `${path}: ${text}`);
      quotes++;
    }
  }
  assert.ok(quotes > 4, `${quotes} quotes`);
});

Deno.test("every metric that a page names is one that the service has", () => {
  const sources = filesBelow("src").filter((path) => /\.tsx?$/.test(path)).map((path) =>
    Deno.readTextFileSync(root + path)
  ).join("\n");
  // Records of decisions name what was renamed since.
  for (const path of pages.filter((path) => !path.startsWith("docs/decisions/"))) {
    const page = Deno.readTextFileSync(root + path);
    for (const [name] of page.matchAll(/(?<=`)gateway_[a-z_]+(?=[`{])/g)) {
      assert.ok(new RegExp(`\\b${name}\\b`).test(sources), `${path}: ${name}`);
    }
  }
});

Deno.test("every metric of the service is in docs/monitoring.md", () => {
  const page = Deno.readTextFileSync(`${root}docs/monitoring.md`);
  const sources = filesBelow("src").filter((path) => /(?<!_test)\.tsx?$/.test(path));
  const names = sources.flatMap((path) =>
    [
      ...Deno.readTextFileSync(root + path).matchAll(
        /^ +(gateway_[a-z_]+): \{|"(gateway_[a-z_]+)"/gm,
      ),
    ]
      .map(([, key, text]) => key ?? text!)
  );
  assert.ok(names.length > 30, `${names.length} metrics`);
  const missing = names.filter((name) => !new RegExp(`\\b${name}\\b`).test(page));
  assert.deepEqual(missing, [], "add a row for each of these");
});

/** Files of the program's sources below a folder. */
function filesBelow(folder: string): string[] {
  return [...Deno.readDirSync(root + folder)].flatMap(({ name, isDirectory }) => {
    if (folder === "." && /^(?:\.|node_modules$|dist$|data$)/.test(name)) return [];
    const path = folder === "." ? name : `${folder}/${name}`;
    return isDirectory ? filesBelow(path) : [path];
  });
}

Deno.test("every source file that a page names exists", () => {
  const files = filesBelow(".");
  let names = 0;
  for (const path of pages) {
    const page = Deno.readTextFileSync(root + path).replace(/^(```+)[^\n]*\n.*?^\1$/gms, "");
    for (const [, name] of page.matchAll(/`([\w./-]+\.(?:tsx?|sql|service))`/g)) {
      assert.ok(files.some((file) => `/${file}`.endsWith(`/${name}`)), `${path} names ${name}`);
      names++;
    }
  }
  assert.ok(names > 50, `${names} names`);
});

Deno.test("the README leads to every page, a folder's README to those in it", () => {
  const unlinked = pages.filter((path) => path !== "README.md").filter((path) => {
    const [, folder, name] = /^(docs\/[^/]+\/)(?!README)(.*)$/.exec(path) ?? ["", "", path];
    return !Deno.readTextFileSync(`${root}${folder}README.md`).includes(`(${name})`);
  });
  assert.deepEqual(unlinked, []);
});
