import assert from "@std/assert";
import { errors } from "../../contracts/kernel/errors.ts";
import { allContracts, contracts } from "../../contracts/mod.ts";
import { commandForms } from "../../src/admin/commands.ts";
import { vendorFamilies } from "../../contracts/calls/vendors.ts";
import { anchorsOf, linksOf, pagePaths } from "./snippets.ts";

const root = new URL("../../", import.meta.url);
const pages = pagePaths(decodeURIComponent(root.pathname));

function read(path: string): string {
  return Deno.readTextFileSync(new URL(path, root));
}

function filesBelow(folder: string): string[] {
  return [...Deno.readDirSync(new URL(folder, root))].flatMap(({ name, isDirectory }) =>
    isDirectory
      ? filesBelow(`${folder}/${name}`)
      : /\.tsx?$/.test(name)
      ? [`${folder}/${name}`]
      : []
  );
}

/** Cells of the rows of a page's tables, without the backticks around single words. */
function rowsOf(page: string): string[][] {
  return page.split("\n").filter((line) => line.startsWith("|")).map((line) =>
    line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim().replace(/^`([^`]*)`$/, "$1"))
  );
}

Deno.test("every link of a page leads to a file, and to a heading where it names one", () => {
  let links = 0;
  for (const page of pages) {
    for (const link of linksOf(read(page))) {
      const { pathname, hash } = new URL(link, new URL(page, root));
      const target = decodeURIComponent(pathname);
      const there = Deno.statSync(target);
      if (hash !== "") {
        const anchors = anchorsOf(Deno.readTextFileSync(target));
        assert.ok(anchors.includes(hash.slice(1)), `${page}: ${link}`);
      }
      assert.ok(there.isFile || there.isDirectory, `${page}: ${link}`);
      links++;
    }
  }
  assert.ok(links > 20, `${links} links`);
});

Deno.test("inline code stays on one line: across two it can't be found or copied", () => {
  for (const page of pages) {
    // Code in a list is indented, and so is its fence.
    const prose = read(page).replace(/^ *```[^]*?^ *```$/gm, "");
    const broken = prose.split("\n").filter((line) => line.split("`").length % 2 === 0);
    assert.deepEqual(broken, [], page);
  }
});

Deno.test("docs/errors.md has every error with its status and type, and says what to do", () => {
  const rows = new Map(rowsOf(read("docs/errors.md")).map((cells) => [cells[1], cells]));
  for (const [code, { status, type }] of Object.entries(errors)) {
    const [shownStatus, , shownType, advice = ""] = rows.get(code) ?? [];
    assert.deepEqual([shownStatus, shownType], [String(status), type], `its row of ${code}`);
    assert.ok(advice.length > 20, `${code}: nothing to do`);
    rows.delete(code);
  }
  const left = [...rows.keys()].filter((code) => /^[a-z_]+$/.test(code!) && code !== "code");
  assert.deepEqual(left, [], "errors that are no more");
});

Deno.test("the README has every family with its alias", () => {
  const rows = rowsOf(read("README.md"));
  for (const { label, aliases } of vendorFamilies) {
    const row = rows.find(([, , path]) => path === `/${label}`);
    for (const alias of aliases) assert.equal(row?.[1], `/${alias}`);
  }
});

Deno.test("docs/configuration.md has every variable that the configuration reads", () => {
  const page = read("docs/configuration.md");
  const code = read("src/main/config.ts");
  const names = [...code.matchAll(/read\.\w+\("([A-Z0-9_]+)"/g)].map(([, name]) => name!);
  assert.ok(names.length > 30, `${names.length} names`);
  const missing = names.filter((name) => !page.includes(`\`${name}\``));
  assert.deepEqual(missing, [], "add a row for each of these");
});

Deno.test("docs/administration.md has each command with its operation, or says why it has none", () => {
  const page = read("docs/administration.md");
  const rows = rowsOf(page).filter(([first = ""]) => /^`?[a-z]/.test(first));
  const operations = allContracts().map(({ method, path }) => `${method.toUpperCase()} ${path}`);
  for (const command of Object.keys(commandForms)) {
    const row = rows.find(([first]) => `${first!.replace(/^`/, "")} `.startsWith(`${command} `));
    const instead = row?.at(-1) ?? "";
    const named = operations.some((one) => instead.replaceAll("…", "/api/v1/admin").includes(one));
    assert.ok(named || instead.length > 40, `its row of the command '${command}'`);
  }
  for (const { method, path } of Object.values(contracts.admin)) {
    const short = path.replace("/api/v1/admin", "…");
    const shown = [path, short].some((one) => page.includes(`${method.toUpperCase()} ${one}`));
    assert.ok(shown, `it has no ${method.toUpperCase()} ${path}`);
  }
});

Deno.test("docs/administration.md has every action of the audit log, and no other", () => {
  const inCode = /\b(?:note(?:By)?\([^"]*|record\(|action(?::| =) )"([a-z_]+\.[a-z_]+)"/g;
  const actions = filesBelow("src").filter((path) => !/_test\.tsx?$/.test(path))
    .flatMap((path) => [...read(path).matchAll(inCode)].map(([, action]) => action!));
  const page = read("docs/administration.md");
  const section = page.slice(page.indexOf("## The audit log"), page.indexOf("## Other commands"));
  const documented = rowsOf(section).flatMap(([cell = ""]) =>
    cell.match(/[a-z_]+\.[a-z_]+/g) ?? []
  );
  assert.deepEqual(documented.sort(), [...new Set(actions)].sort());
});

Deno.test("docs/dependencies.md gives a reason for every package", () => {
  const page = read("docs/dependencies.md");
  const targets: string[] = Object.values(JSON.parse(read("deno.json")).imports);
  for (const target of targets) {
    const [, scope = "", name] = /^npm:\/?(@[^/]+\/)?([^@/]+)@/.exec(target) ?? [];
    if (name === undefined) continue;
    const named = [`${scope}${name}`, `${scope}*`, name].some((one) => page.includes(`\`${one}\``));
    assert.ok(named, `it doesn't name ${scope}${name}`);
  }
});

Deno.test("each decision has a number of its own", () => {
  const records = pages.filter((path) => path.startsWith("docs/decisions/")).map(read).join("\n");
  const numbers = [...records.matchAll(/^##+ (\d{4}) /gm)].map(([, number]) => number!);
  assert.ok(numbers.length > 800, `${numbers.length} records`);
  assert.deepEqual(numbers.filter((one, at) => numbers.indexOf(one) !== at), []);
});
