import { ofBatch } from "./batches.ts";

/** One test as `deno test --junit-path` reports it; its steps aren't cases of their own. */
export interface TestCase {
  /** Path of the test file, relative to the repository, without `./`. */
  readonly file: string;
  readonly name: string;
  /** `filtered`: not run because of a name filter. */
  readonly state: "passed" | "failed" | "skipped" | "filtered";
  /** The failure's message; empty if the test didn't fail. */
  readonly message: string;
}

/**
 * Reads a report of Deno 2.9. As measured, a step is a case named `test > step`, a filtered test is
 * a case with `<skipped/>` and no `time`, and a file that throws at import is missing.
 */
export function readJunit(xml: string): TestCase[] {
  const cases: TestCase[] = [];
  // Suites are by registering file, so a batch's test and its steps may be in different suites.
  const ofBatches = [...xml.matchAll(casePattern)].map(([, own = ""]) => attribute(own, "name"))
    .filter((name) => ofBatch(name) !== undefined);
  for (const [, attributes = "", body = ""] of xml.matchAll(suitePattern)) {
    const file = attribute(attributes, "name").replace(/^\.\//, "");
    const found = [...body.matchAll(casePattern)].map(([, own = "", inner = ""]) => ({
      file,
      name: attribute(own, "name"),
      state: stateOf(own, inner),
      message: attribute(/<(?:failure|error)([^>]*)>/.exec(inner)?.[1] ?? "", "message"),
    }));
    const names = new Set([...ofBatches, ...found.map((each) => each.name)]);
    cases.push(...found.filter((each) => !isStep(each.name, names)));
  }
  return cases;
}

const suitePattern = /<testsuite ([^>]*)>([\s\S]*?)<\/testsuite>/g;
const casePattern = /<testcase ([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g;

function stateOf(attributes: string, body: string): TestCase["state"] {
  if (/<(failure|error)\b/.test(body)) return "failed";
  if (!/<skipped\b/.test(body)) return "passed";
  return / time="/.test(attributes) ? "skipped" : "filtered";
}

function isStep(name: string, names: ReadonlySet<string>): boolean {
  for (let at = name.indexOf(" > "); at >= 0; at = name.indexOf(" > ", at + 1)) {
    if (names.has(name.slice(0, at))) return true;
  }
  return false;
}

function attribute(attributes: string, name: string): string {
  const value = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes)?.[1] ?? "";
  return value.replace(
    /&(lt|gt|quot|apos|amp|#\d+|#x[0-9a-f]+);/gi,
    (whole, entity: string) => entities[entity] ?? numeric(entity) ?? whole,
  );
}

const entities: Readonly<Record<string, string>> = {
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  amp: "&",
};

function numeric(entity: string): string | undefined {
  if (!entity.startsWith("#")) return undefined;
  const hex = /^#x/i.test(entity);
  return String.fromCodePoint(parseInt(entity.slice(hex ? 2 : 1), hex ? 16 : 10));
}
